// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener_rows.h"

#include <fmt/format.h>

#include "api/from_model.h"
#include "model/simt/estimate.h"

namespace tilescope::tests {

std::string bands_answer(const std::vector<tile::RProgram>& programs, arch::ArchSpec a) {
  std::string out;
  a.error_bands_hold = true;
  for (const bool anyway : {false, true}) {
    a.error_bands_anyway = anyway;
    for (const tile::RProgram& p : programs)
      if (const auto band = api::band_of(1, a, p)) out += fmt::format("{} {};", band->low_us, band->high_us);
  }
  return out;
}

std::string energy_answer(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a) {
  std::string out;
  for (const tile::RProgram& p : programs) {
    const auto e = model::estimate(p, model::make_machine(a));
    if (!e) continue;
    const api::Prediction row = api::prediction_of(*e, a, p);
    if (row.energy) out += fmt::format("{} {};", row.energy->energy_uj, row.energy->limit_clock_mhz.value_or(0));
  }
  return out;
}

}  // namespace tilescope::tests

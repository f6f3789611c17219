// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/listener_rows.h"

#include <fmt/format.h>

#include "api/from_model.h"
#include "construct/bsp/construct.h"
#include "model/bsp/estimate.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"

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

std::string exchanged_energy_answer(const arch::ArchSpec& own, const arch::ArchSpec& a) {
  std::string out;
  for (const arch::ComputeSpec& c : own.compute)
    for (const auto& [op, sizes] : {std::pair{"C[m,n] +=! A[m,k] * B[k,n]", "m=512,n=768,k=1024"},
                                    {"O[i] +=! I[i,k]", "i=4096,k=640"},
                                    {"O[i,j] = I[i,j] + J[i,j]", "i=4096,j=1000"}}) {
      base::Diagnostics diags;
      construct::bsp::Options options;
      if (c.n * c.k > 1) options.mma = c.name;
      const expr::Expression e = expression(op, sizes, {}, c.dtype);
      for (const tile::BspStage& s : construct::bsp::construct(e, own, 1, options, diags)) {
        const api::Prediction row =
            api::prediction_of(model::bsp::estimate({&s, 1}, a), a, tile::program_of(a.name, s));
        if (row.energy) out += fmt::format("{} {};", row.energy->energy_uj, row.energy->limit_clock_mhz.value_or(0));
      }
    }
  return out;
}

}  // namespace tilescope::tests

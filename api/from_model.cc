// SPDX-License-Identifier: Apache-2.0
#include "api/from_model.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "api/counted.h"
#include "api/operator_kind.h"
#include "arch/bands.h"
#include "arch/hierarchy.h"
#include "arch/key.h"
#include "base/check.h"
#include "targets/target.h"

namespace tilescope::api {
namespace {

// The chip's band of that kind, of any element type where none is named; null where it has none.
const arch::ErrorBand* band_named(const arch::ArchSpec& a, std::string_view kind, std::optional<base::Dtype> dtype) {
  for (const auto& [name, band] : a.error_bands)
    if (arch::kind_of_band(name).first == kind && (!dtype || band.dtype == *dtype)) return &band;
  return nullptr;
}

}  // namespace

std::optional<TimeBand> band_of(double predicted_us, const arch::ArchSpec& a, const tile::RProgram& program) {
  if (a.error_bands.empty()) return std::nullopt;
  const expr::Expression& e = program.space(0).expression;
  const std::string kind = program.stages() == 1 ? kind_of(e) : std::string();
  const arch::ErrorBand* band = band_named(a, kind, e.dtype);
  const bool measured = a.error_bands_hold && band != nullptr;
  if (!measured && !a.error_bands_anyway) return std::nullopt;
  if (band == nullptr) band = band_named(a, kind, std::nullopt);
  if (band == nullptr) band = band_named(a, arch::kAllOperators, e.dtype);
  if (band == nullptr) band = band_named(a, arch::kAllOperators, std::nullopt);
  if (band == nullptr) return std::nullopt;
  return TimeBand{predicted_us * band->low, predicted_us * band->high, measured};
}

namespace {

// The program's time by the model on the same chip with its cores at another clock.
energy::TimeAt time_at_clocks(const arch::ArchSpec& a, const tile::RProgram& program) {
  return [&a, &program](arch::Hertz clock) {
    arch::ArchSpec slower = a;
    slower.clock = clock;
    const auto estimate = targets::target_of(slower).estimate(slower)(program, nullptr, {});
    base::check(estimate.has_value(), "a clock does not decide whether a program has a time");
    return estimate->total_us;
  };
}

}  // namespace

Prediction prediction_of(const model::Estimate& e, const arch::ArchSpec& a, const tile::RProgram& program,
                         UnderLimit limit) {
  Prediction p;
  p.predicted_us = e.total_us;
  p.band = band_of(e.total_us, a, program);
  p.bottleneck = e.terms[e.bottleneck].name;
  for (const model::NamedTerm& t : e.terms) p.terms.push_back({std::string(t.name), t.time_us});
  if (const arch::DramLevel* dram = arch::dram_of(a);
      dram != nullptr && std::holds_alternative<std::vector<tile::StageProgram>>(program.nodes)) {
    double bound_us = 0;
    for (const model::NamedTerm& t : e.terms)
      if (t.name == "arithmetic" || t.name == dram->name) bound_us = std::max(bound_us, t.time_us);
    p.speed_of_light_ratio = bound_us / e.total_us;
  }
  for (const model::LevelUse& l : e.levels)
    p.levels.push_back({std::string(l.name), l.bytes, l.transactions, l.conflict_ratio, l.time_us});
  if (program.stages() > 1 && std::holds_alternative<std::vector<tile::StageProgram>>(program.nodes))
    p.dram = {e.dram_read_bytes, e.dram_written_bytes, e.dirty_bytes};
  p.occupancy_ratio = e.occupancy.ratio;
  p.occupancy_limit = e.occupancy.limited_by;
  p.registers_per_thread = e.occupancy.registers_per_thread;
  p.blocks = e.blocks;
  p.waves = e.waves;
  if (!e.counts.levels.empty()) {
    p.counts = work_counts_of(e.counts, a);
    p.energy = energy_row_of(e.counts, e.total_us, a,
                             limit == UnderLimit::kJudged ? time_at_clocks(a, program) : energy::TimeAt(), p.no_energy);
  }
  return p;
}

}  // namespace tilescope::api

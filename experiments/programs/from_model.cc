#include "experiments/programs/from_model.h"

#include "arch/bands.h"
#include "arch/hierarchy.h"
#include "arch/key.h"
#include "experiments/programs/operator_kind.h"

namespace tilescope::experiments {
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
  const expr::Expression& e = program.stages.front().space->expression;
  const std::string kind = program.stages.size() == 1 ? kind_of(e) : std::string();
  const arch::ErrorBand* band = band_named(a, kind, e.dtype);
  const bool measured = a.error_bands_hold && band != nullptr;
  if (!measured && !a.error_bands_anyway) return std::nullopt;
  if (band == nullptr) band = band_named(a, kind, std::nullopt);
  if (band == nullptr) band = band_named(a, arch::kAllOperators, e.dtype);
  if (band == nullptr) band = band_named(a, arch::kAllOperators, std::nullopt);
  if (band == nullptr) return std::nullopt;
  return TimeBand{predicted_us * band->low, predicted_us * band->high, measured};
}

Prediction prediction_of(const model::Estimate& s, const arch::ArchSpec& a, const tile::RProgram& program) {
  Prediction p;
  p.predicted_us = s.total_us;
  p.band = band_of(s.total_us, a, program);
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  p.bottleneck = model::name_of(s.bottleneck, hierarchy);
  for (std::size_t t = 0; t < model::kTerms; ++t)
    if (const auto name = model::name_of(static_cast<model::Term>(t), hierarchy); !name.empty())
      p.terms.push_back({std::string(name), s.term_us[t]});
  const auto add = [&](const arch::LevelSpec* level, const model::LevelUse& u) {
    if (level != nullptr) p.levels.push_back({level->name, u.bytes, u.transactions, u.conflict_ratio, u.time_us});
  };
  add(hierarchy.dram, s.dram);
  for (std::size_t c = hierarchy.device_caches.size(); c-- > 0;) add(hierarchy.device_caches[c], s.device_caches[c]);
  add(hierarchy.core_cache, s.core_cache);
  add(hierarchy.scratchpad, s.scratchpad);
  p.occupancy_ratio = s.occupancy.ratio;
  p.occupancy_limit = s.occupancy.limited_by;
  p.registers_per_thread = s.occupancy.registers_per_thread;
  p.blocks = s.blocks;
  p.waves = s.waves;
  return p;
}

}  // namespace tilescope::experiments

#include "experiments/prediction.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "arch/derive.h"
#include "experiments/from_model.h"

namespace tilescope::experiments {
namespace {

using base::Map;

using Use = model::LevelUse model::StageEstimate::*;

LevelRow level_row(const std::string& name, std::span<const model::StageEstimate> stages, Use use) {
  LevelRow row{name, 0, 0, 0, 0};
  for (const model::StageEstimate& s : stages) {
    const model::LevelUse& u = s.*use;
    row.bytes += u.bytes;
    row.transactions += u.transactions;
    row.time_us += u.time_us;
    row.conflict_ratio = std::max(row.conflict_ratio, u.conflict_ratio);
  }
  return row;
}

Prediction prediction_of_stages(std::span<const model::StageEstimate> stages, const arch::ArchSpec& a) {
  Prediction p;
  const model::StageEstimate* longest = &stages.front();
  for (std::size_t t = 0; t < model::kTerms; ++t)
    p.terms.push_back({std::string(model::name_of(static_cast<model::Term>(t))), 0});
  for (const model::StageEstimate& s : stages) {
    p.predicted_us += s.total_us;
    for (std::size_t t = 0; t < model::kTerms; ++t) p.terms[t].us += s.term_us[t];
    if (s.total_us > longest->total_us) longest = &s;
  }
  p.bottleneck = model::name_of(longest->bottleneck);
  p.occupancy_ratio = longest->occupancy.ratio;
  p.occupancy_limit = longest->occupancy.limited_by;
  p.registers_per_thread = longest->occupancy.registers_per_thread;
  p.blocks = longest->blocks;
  p.waves = longest->waves;
  const auto add = [&](const arch::LevelSpec* level, Use use) {
    if (level != nullptr) p.levels.push_back(level_row(level->name, stages, use));
  };
  add(arch::dram_of(a), &model::StageEstimate::dram);
  add(arch::device_cache_of(a), &model::StageEstimate::device_cache);
  add(arch::core_cache_of(a), &model::StageEstimate::core_cache);
  add(arch::scratchpad_of(a), &model::StageEstimate::scratchpad);
  return p;
}

}  // namespace

Prediction prediction_of(const model::Estimate& e, const arch::ArchSpec& a) {
  return prediction_of_stages(e.stages, a);
}

Prediction prediction_of(const model::StageEstimate& s, const arch::ArchSpec& a) {
  return prediction_of_stages({&s, 1}, a);
}

std::string no_instruction(const arch::ArchSpec& a, base::Dtype dtype, base::Dtype accumulate) {
  return fmt::format("{} has no instruction that multiplies {} into {} one element at a time", a.name,
                     base::name_of(dtype), base::name_of(accumulate));
}

Map to_entries(const Prediction& p) {
  Map terms, levels;
  for (const TermRow& t : p.terms) {
    std::string key = t.name + "_us";
    std::replace(key.begin(), key.end(), ' ', '_');
    terms.push_back({std::move(key), t.us, {}});
  }
  for (const LevelRow& l : p.levels)
    levels.push_back({l.name,
                      Map{{"bytes", l.bytes, {}},
                          {"transactions", l.transactions, {}},
                          {"conflict_ratio", l.conflict_ratio, {}},
                          {"time_us", l.time_us, {}}},
                      {}});
  return Map{{"predicted_us", p.predicted_us, {}},
             {"bottleneck", p.bottleneck, {}},
             {"terms", std::move(terms), {}},
             {"levels", std::move(levels), {}},
             {"occupancy_ratio", p.occupancy_ratio, {}},
             {"occupancy_limit", p.occupancy_limit, {}},
             {"registers_per_thread", p.registers_per_thread, {}},
             {"blocks", p.blocks, {}},
             {"waves", p.waves, {}}};
}

}  // namespace tilescope::experiments

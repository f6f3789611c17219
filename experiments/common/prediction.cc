// SPDX-License-Identifier: Apache-2.0
#include "experiments/common/prediction.h"

namespace tilescope::experiments {

using base::Map;

void add_band(Map& row, const std::optional<TimeBand>& band) {
  if (!band) return;
  row.push_back({"low_us", band->low_us, {}});
  row.push_back({"high_us", band->high_us, {}});
  if (!band->measured) row.push_back({"band_measured", false, {}});
}

Map to_entries(const Prediction& p) {
  Map terms, levels;
  for (const TermRow& t : p.terms) {
    terms.push_back({t.name + "_us", t.us, {}});
  }
  for (const LevelRow& l : p.levels)
    levels.push_back({l.name,
                      Map{{"bytes", l.bytes, {}},
                          {"transactions", l.transactions, {}},
                          {"conflict_ratio", l.conflict_ratio, {}},
                          {"time_us", l.time_us, {}}},
                      {}});
  Map out = {{"predicted_us", p.predicted_us, {}}};
  add_band(out, p.band);
  base::append(
      out, Map{{"bottleneck", p.bottleneck, {}}, {"terms", std::move(terms), {}}, {"levels", std::move(levels), {}}});
  if (p.dram)
    base::append(out, Map{{"dram_read_bytes", p.dram->read_bytes, {}},
                          {"dram_written_bytes", p.dram->written_bytes, {}},
                          {"dirty_bytes", p.dram->dirty_bytes, {}}});
  base::append(out, Map{{"occupancy_ratio", p.occupancy_ratio, {}},
                        {"occupancy_limit", p.occupancy_limit, {}},
                        {"registers_per_thread", p.registers_per_thread, {}},
                        {"blocks", p.blocks, {}},
                        {"waves", p.waves, {}}});
  return out;
}

}  // namespace tilescope::experiments

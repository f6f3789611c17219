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

// Built entry by entry: a list of entries in braces is copied, and every row of a batch passes here.
Map to_entries(const Prediction& p) {
  Map terms, levels, out;
  terms.reserve(p.terms.size());
  for (const TermRow& t : p.terms) terms.push_back({t.name + "_us", t.us, {}});
  levels.reserve(p.levels.size());
  for (const LevelRow& l : p.levels) {
    Map use;
    use.reserve(4);
    use.push_back({"bytes", l.bytes, {}});
    use.push_back({"transactions", l.transactions, {}});
    use.push_back({"conflict_ratio", l.conflict_ratio, {}});
    use.push_back({"time_us", l.time_us, {}});
    levels.push_back({l.name, std::move(use), {}});
  }
  constexpr std::size_t kKeys = 15;
  out.reserve(kKeys);
  out.push_back({"predicted_us", p.predicted_us, {}});
  add_band(out, p.band);
  out.push_back({"bottleneck", p.bottleneck, {}});
  out.push_back({"terms", std::move(terms), {}});
  out.push_back({"levels", std::move(levels), {}});
  if (p.dram) {
    out.push_back({"dram_read_bytes", p.dram->read_bytes, {}});
    out.push_back({"dram_written_bytes", p.dram->written_bytes, {}});
    out.push_back({"dirty_bytes", p.dram->dirty_bytes, {}});
  }
  out.push_back({"occupancy_ratio", p.occupancy_ratio, {}});
  out.push_back({"occupancy_limit", p.occupancy_limit, {}});
  out.push_back({"registers_per_thread", p.registers_per_thread, {}});
  out.push_back({"blocks", p.blocks, {}});
  out.push_back({"waves", p.waves, {}});
  return out;
}

}  // namespace tilescope::experiments

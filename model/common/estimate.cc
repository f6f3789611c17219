// SPDX-License-Identifier: Apache-2.0
#include "model/common/estimate.h"

#include <algorithm>

namespace tilescope::model {
namespace {

template <class Named>
Named named(const Named* first, const Named* last, std::string_view name) {
  const Named* found = std::find_if(first, last, [&](const Named& n) { return n.name == name; });
  return found == last ? Named{} : *found;
}

void add(Estimate& sum, const Estimate& stage) {
  for (std::size_t t = 0; t < sum.terms.size(); ++t) sum.terms[t].time_us += stage.terms[t].time_us;
  for (std::size_t l = 0; l < sum.levels.size(); ++l) {
    LevelUse& to = sum.levels[l];
    const LevelUse& more = stage.levels[l];
    to.bytes += more.bytes;
    to.transactions += more.transactions;
    to.time_us += more.time_us;
    to.conflict_ratio = std::max(to.conflict_ratio, more.conflict_ratio);
  }
  sum.core_sectors += stage.core_sectors;
  sum.dram_read_bytes += stage.dram_read_bytes;
  sum.dram_written_bytes += stage.dram_written_bytes;
  sum.counts += stage.counts;
  sum.total_us += stage.total_us;
}

}  // namespace

double Estimate::term_us(std::string_view name) const { return named(terms.begin(), terms.end(), name).time_us; }
LevelUse Estimate::level(std::string_view name) const { return named(levels.begin(), levels.end(), name); }

Estimate sum_of(std::span<const Estimate> stages) {
  Estimate sum = stages.front();
  for (const Estimate& stage : stages.subspan(1)) add(sum, stage);
  const Estimate& longest = *std::max_element(
      stages.begin(), stages.end(), [](const Estimate& a, const Estimate& b) { return a.total_us < b.total_us; });
  sum.blocks = longest.blocks;
  sum.waves = longest.waves;
  sum.occupancy = longest.occupancy;
  sum.bottleneck = longest.bottleneck;
  return sum;
}

}  // namespace tilescope::model

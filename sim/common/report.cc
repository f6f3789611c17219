// SPDX-License-Identifier: Apache-2.0
#include "sim/common/report.h"

#include <utility>

namespace tilescope::sim {

void add(LevelStatistics& sum, const LevelStatistics& more) {
  sum.requests += more.requests;
  sum.transactions += more.transactions;
  sum.hits += more.hits;
  sum.read_bytes += more.read_bytes;
  sum.written_bytes += more.written_bytes;
}

void add(SimReport& all, KernelReport kernel) {
  all.cycles += kernel.cycles;
  all.launch += kernel.launch;
  all.time = all.time + kernel.time;
  all.counts += kernel.counts;
  if (all.kernels.empty()) {
    all.stalls = kernel.stalls;
    all.levels = kernel.levels;
  } else {
    for (std::size_t s = 0; s < kernel.stalls.size(); ++s) all.stalls[s].cycles += kernel.stalls[s].cycles;
    for (std::size_t l = 0; l < kernel.levels.size(); ++l) add(all.levels[l].amounts, kernel.levels[l].amounts);
  }
  all.kernels.push_back(std::move(kernel));
}

}  // namespace tilescope::sim

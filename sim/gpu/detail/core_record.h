// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the units of a core write down what happens: the statistics of the kernel, and a timeline where one is asked
// for. Nothing here changes what they do.

#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/resident_warps.h"
#include "sim/statistics.h"
#include "sim/timeline.h"

namespace tilescope::sim {

struct CoreRecord {
  int core = 0;
  const Machine& machine;
  Statistics* statistics = nullptr;
  Timeline* timeline = nullptr;

  LevelStatistics& level(LevelRole role) const { return statistics->level(role); }
  // The warp's time from where it is accounted for has this cause.
  void stall(Warp& w, Stall why, Cycle until) const {
    if (until <= w.since) return;
    statistics->stall(why) += (until - w.since).count();
    if (timeline != nullptr)
      timeline->warp(core, w.block, w.number, machine.stall_names[static_cast<std::size_t>(why)], w.since, until);
    w.since = until;
  }
  void scratchpad(const lower::AccessCount& count) const {
    level(LevelRole::kScratchpad).requests += count.requests;
    level(LevelRole::kScratchpad).transactions += count.passes;
  }
};

}  // namespace tilescope::sim

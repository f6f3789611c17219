// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a block does in the scratchpads of the others of its cluster. A core has their messages in an outbox until the
// GPU hands them over at the end of a turn, so that nothing depends on the order in which cores ran.
//
// Ignores: the network between the scratchpads, but for `core.tma.cluster_latency` and for the ports by which lines
// come to each core.

#include <cstdint>

#include "sim/common/cycle.h"
#include "sim/statistics.h"

namespace tilescope::sim {

// A CTA slot of a core.
struct ClusterBlock {
  int core = 0, place = 0;
};

// A warp arrives at an mbarrier of another block, or bytes that were multicast come to its scratchpad.
struct ClusterMessage {
  ClusterBlock to = {};
  int mbarrier = 0;
  std::int64_t phase = 0;  // as the blocks of the cluster ran them, which leave out the same ones
  std::int64_t bytes = 0;  // 0: an arrival
  bool from_memory = false;
  Cycle at{};
  Stall from = Stall::kBarrier;
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counters of a kernel's accesses: plain data that the simulator and the emitted text fill in independently.
//
//   request      one access instruction of one warp with at least one active lane
//   sectors      distinct device-cache sectors that its active lanes touch, before any cache
//   bank passes  lanes in order, in groups that fill banks x bank_width once; a group costs the largest number of
//                distinct words in any one bank; equal words are broadcast. An idle lane keeps its place.

#include <cstdint>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::lower {

// Counts of one side of one copy, over all threads of all blocks. A side in memory has sectors, one in the scratchpad
// has passes.
struct AccessCount {
  std::int64_t lane_accesses = 0;  // by active threads
  std::int64_t requests = 0;
  std::int64_t bytes = 0;  // requested: lane accesses times their width
  std::int64_t sectors = 0;
  std::int64_t passes = 0;

  AccessCount& operator+=(const AccessCount& o) {
    lane_accesses += o.lane_accesses;
    requests += o.requests;
    bytes += o.bytes;
    sectors += o.sectors;
    passes += o.passes;
    return *this;
  }
  bool operator==(const AccessCount&) const = default;
};

struct CopyCount {
  AccessCount global, shared;  // each zero where the copy has no such side

  bool operator==(const CopyCount&) const = default;
};

// One entry for each copy of a kernel, then one for each TMA copy, in the order of the kernel's body with loops, Ifs
// and roles entered in place. The rows that LoadMatrix reads are a copy. A TMA copy is a request of one lane: to memory
// for the part of its box that lies in the tensor, if any does, and to the scratchpad for the whole box, in full
// passes.
using KernelCounters = std::vector<CopyCount>;

// The copies of a kernel in that order.
std::vector<const Copy*> copies_of(const Kernel& k);
std::vector<const TmaBox*> tma_boxes_of(const Kernel& k);

}  // namespace tilescope::lower

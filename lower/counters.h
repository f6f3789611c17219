// SPDX-License-Identifier: Apache-2.0
#pragma once
// What accesses of a kernel are counted by; plain data that simulator and emitted text fill in independently.
//
//   request      one access instruction of one warp with at least one active lane
//   sectors      distinct device-cache sectors that its active lanes touch, before any cache
//   bank passes  lanes in order, in groups that fill banks x bank_width once; a group costs the most distinct
//                words that any one bank must give; equal words are broadcast. An idle lane keeps its place.

#include <cstdint>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::lower {

// One side of one copy, all threads of all blocks. Sectors of a side in memory, passes of one in the scratchpad.
struct AccessCount {
  std::int64_t lane_accesses = 0;  // by active threads
  std::int64_t requests = 0;
  std::int64_t bytes = 0;  // asked for: lane accesses times their width
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

// By copy of a kernel, then by TMA copy: the order in which they stand in its body, loops, Ifs and roles entered where
// they stand. The rows that LoadMatrix reads are a copy. A TMA copy is a request of one lane: to memory for the part of
// its box that lies in the tensor, if any does, and to the scratchpad for the whole box, in full passes.
using KernelCounters = std::vector<CopyCount>;

// The copies of a kernel in that order.
std::vector<const Copy*> copies_of(const Kernel& k);
std::vector<const TmaBox*> tma_boxes_of(const Kernel& k);

}  // namespace tilescope::lower

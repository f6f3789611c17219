// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that a network needs while it runs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::api {

// A tensor that groups of a network share: written by group `first`, or there from the begin, and read last by group
// `last`.
struct LivingTensor {
  std::string name;
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct Arena {
  std::int64_t bytes = 0;             // of the whole arena
  std::int64_t live_bytes = 0;        // the most that are needed at a time, a lower bound of `bytes`
  std::size_t at = 0;                 // the group that needs them
  std::vector<std::int64_t> offsets;  // by tensor
};

// Places tensors in one piece of memory so that those that live at a time do not overlap: the largest first, of equal
// ones the earliest, each in the smallest gap between those placed that it fits. Offsets are multiples of `alignment`.
Arena arena_of(const std::vector<LivingTensor>& tensors, std::int64_t alignment);

}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many blocks of a kernel one core keeps at a time.

#include "lower/kernel.h"
#include "sim/gpu/detail/machine.h"

namespace tilescope::sim {

struct Occupancy {
  std::int64_t warps = 1;                 // of a block
  std::int64_t registers_per_thread = 0;  // 32-bit, estimated; at most what the chip has for one
  // Registers held across a barrier that do not fit (sim/gpu/detail/spills.h): of those that others share, and of
  // those that a chip has for sums of matrix instructions alone, as many.
  std::int64_t spilled_per_thread = 0, spilled_sums_per_thread = 0;
  // Registers that do not fit and are not spilled: of addresses, fragments and pieces between barriers.
  std::int64_t lacking_per_thread = 0;
  std::int64_t blocks_per_core = 1;

  // The sums of products of warp groups are in memory, but for one product's while it runs: an instruction that runs by
  // itself needs all of them in registers. ptxas says so where it happens (C7511).
  bool moves_warp_group_sums = false;

  bool spills() const {
    return spilled_per_thread > 0 || spilled_sums_per_thread > 0 || spilled_in_products > 0 || moves_warp_group_sums;
  }

  // Sums that do not fit beside the operands of an iteration (product_loops.h).
  std::int64_t spilled_in_products = 0;
};

// Throws SimError where one block exceeds the chip: which limit, by how much.
Occupancy occupancy_of(const lower::Kernel& kernel, const Machine& m);

}  // namespace tilescope::sim

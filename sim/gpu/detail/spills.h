// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a thread cannot keep in registers across a barrier lies in local memory meanwhile: stored before it and loaded
// behind it, each warp's words side by side, through the core's cache as any access.
//
// In a kernel without a register limit, every iteration loads and stores the accumulators that have no register while
// its operands are held. Other spilled words that no barrier separates from their use cost nothing: compilers load them
// later, and again. The charge is therefore a lower bound of a kernel's spills.

#include <cstdint>
#include <vector>

#include "lower/kernel.h"
#include "sim/gpu/detail/machine.h"
#include "sim/gpu/detail/occupancy.h"

namespace tilescope::sim {

// 32-bit registers whose values a thread holds across one barrier, the most of all barriers: sums, and pieces on their
// way from memory to the scratchpad.
struct HeldRegisters {
  std::int64_t common = 0;
  std::int64_t sums = 0;  // of matrix instructions, on a chip that has registers for these alone
};
HeldRegisters registers_held(const lower::Kernel& k, const Machine& m);

// 32-bit registers of a thread that hold sums of products of warp groups; of the largest array where there are several.
std::int64_t registers_of_warp_group_sums(const lower::Kernel& k);

// A kernel with its spills spelled out.
struct Spilled {
  lower::Kernel kernel;
  std::vector<std::int64_t> bases;  // of the module's arrays and of local memory behind them, a place for each block
                                    // that is resident at a time
  std::vector<bool> of_kernel;      // by copy (lower::copies_of): one of the kernel's own
};
// `bases`: where the module's arrays begin; `end`: of the last one.
Spilled with_spills(const lower::Kernel& k, const std::vector<std::int64_t>& bases, std::int64_t end,
                    const Occupancy& occupancy, const Machine& m);

}  // namespace tilescope::sim

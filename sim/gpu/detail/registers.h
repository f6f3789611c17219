// SPDX-License-Identifier: Apache-2.0
#pragma once
// 32-bit registers that a thread of a kernel needs for all that it holds at a time: its arrays as long as they are in
// use, and what address_code.h says that is computed before the loop that wants it. Arguments take none: they lie where
// lanes of a warp share them, in a constant bank or in scalar registers.
//
// Ignores: copies that a compiler makes to have more loads under way, fragments of which it holds parts only.

#include <cstdint>
#include <vector>

#include "lower/kernel.h"
#include "sim/gpu/detail/machine.h"

namespace tilescope::sim {

std::int64_t registers_needed(const lower::Kernel& k, const Machine& m);

// By array: whether it is in the registers that others are in, not in those that a chip has for sums of matrix
// instructions alone.
std::vector<bool> in_common_registers(const lower::Kernel& k, const Machine& m);

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules that every Kernel obeys, wherever it comes from. Readers of kernels rely on them and do not check again.
// lower/interpret.h finds the mistakes that only values show (a race, an unwritten read).

#include <cstdint>
#include <functional>
#include <string_view>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// The source position of a part of a module such as "kernels[0].body[2].to".
using PlaceOf = std::function<base::Position(std::string_view path)>;

// Limits that keep the arithmetic of readers within 64 bits, and their memory within a few GB.
struct KernelLimits {
  double statements_of_thread = 0x1p30;           // that one thread runs, loops counted
  double statements_of_warps = 0x1p44;            // that all warps of all blocks run
  std::int64_t elements = std::int64_t{1} << 40;  // of all arrays in memory
  std::int64_t registers_of_thread = 1 << 14;     // elements of its arrays
  std::int64_t blocks = 0x7fffffff;               // readers count them in 32 bits
  std::size_t entries_of_body = 4096;             // nodes of the body of a Compute
  std::size_t depth_of_body = 256;                // nesting of its text
  std::size_t bits_of_map = 10;                   // of lanes, and of a lane's elements
};

// Adds an error for each rule that a kernel breaks, and returns whether it breaks none:
// - positions, loops and roles exist and are used where they may be; names differ;
// - sizes are within those of the chip and within `limits`;
// - operands have the spaces, dtypes and widths that a statement takes;
// - no access leaves its array. Where intervals and guards do not show it, the check tries points, at most a few
//   million; only running the kernel finds a mistake at any other point;
// - arrays of the scratchpad that share bytes are not in use at the same time;
// - roles, mbarriers and groups of asynchronous copies complete, as tried on the first and the last block.
bool check(const Module& m, const arch::ArchSpec& chip, const PlaceOf& place, base::Diagnostics& diags,
           const KernelLimits& limits = {});

}  // namespace tilescope::lower

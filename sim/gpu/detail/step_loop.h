// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop over a block's steps, found in a warp's operations: the longest of those in which warps meet memory or each
// other, of all roles where there are some, and whose iterations advance an mbarrier by the same number of phases
// wherever it is used.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilescope::sim {

class KernelIndices;
struct CodeLoop;
struct MbarrierPhase;
struct WarpOp;

struct StepLoop {
  int number = -1;                   // among the loops; -1 where there is none
  std::vector<std::int64_t> phases;  // of each mbarrier, that an iteration goes on by
};

StepLoop step_loop_of(std::span<const WarpOp> ops, std::span<const CodeLoop> loops, std::size_t roles,
                      std::span<const MbarrierPhase> phases, const KernelIndices& indices);

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far the warps of a core are in the loop over steps, and their jumps over some of them.

#include <cstddef>
#include <span>
#include <vector>

#include "sim/gpu/detail/resident_warps.h"
#include "sim/gpu/detail/warp_code.h"
#include "sim/gpu/sampling_units.h"

namespace tilescope::sim {

// The progress of every place, added to `out`.
void add_progress(const ResidentWarps& warps, const WarpCode& code, int core, std::vector<StepProgress>& out);

// The warps of every place, in that order, jump; returns what is left of the list. `started`: places of the blocks that
// started here meanwhile, in that order.
std::span<const StepJump> jump_steps(ResidentWarps& warps, const WarpCode& code, std::span<const StepJump> jumps,
                                     std::span<const std::size_t> started);

}  // namespace tilescope::sim

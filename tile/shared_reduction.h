// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of a block that share a reduction, and how their results are combined: by shuffles between neighbouring lanes
// of a warp, where the chip has them, and the remaining ones through the scratchpad.

#include <cstdint>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// The p.sharers() threads that share a reduction: each `lanes` consecutive ones, a power of two within one warp,
// combine by shuffles; then `groups` of these combine through the scratchpad.
struct ReductionSharing {
  std::int64_t lanes = 1, groups = 1;
};
ReductionSharing sharing_of(const StageProgram& p, const arch::CoreSpec& core);

// Bytes of a block's scratchpad for the combination: a partial result of every group, for each of the block's results.
// 0 where shuffles suffice.
base::Bytes shared_parts_bytes(const StageProgram& p, const arch::CoreSpec& core);

// Why the threads of the program cannot share its reduction as specified, in a sentence; empty where they can.
std::string sharing_refusal(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of a block that share a reduction, and how their results meet: between neighbouring lanes of a warp by
// shuffles, where the chip has them, and between what is left through the scratchpad.

#include <cstdint>
#include <string>

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// Of p.sharers() neighbouring threads, each `lanes` that follow each other combine by shuffles, a power of two and part
// of one warp; then `groups` of those through the scratchpad.
struct ReductionSharing {
  std::int64_t lanes = 1, groups = 1;
};
ReductionSharing sharing_of(const StageProgram& p, const arch::CoreSpec& core);

// Of a block's scratchpad: a partial result of every group, for each of the block's results. None where shuffles do.
base::Bytes shared_parts_bytes(const StageProgram& p, const arch::CoreSpec& core);

// Why the threads of the program cannot share its reduction as it says, in a sentence; empty where they can.
std::string sharing_refusal(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile

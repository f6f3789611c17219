// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a crew of threads does in one statement. All functions throw Mistake where a kernel breaks a rule of
// lower/kernel.h.

#include <span>
#include <vector>

#include "lower/detail/block_memory.h"
#include "lower/detail/crew.h"
#include "lower/detail/mbarriers.h"
#include "lower/kernel.h"

namespace tilescope::lower {

// What a load writes to in one block.
struct BlockParts {
  BlockMemory* memory;
  Mbarriers* mbarriers;
};

// lower/interpret_transfers.cc. A load is of the crew's block, `own`, and writes `to` that one, or all of its cluster.
void run(const Copy& c, BlockMemory& memory, Crew& by);
void run(const TmaLoad& b, BlockMemory& own, std::span<const BlockParts> to, Crew& by);
void run(const TmaStore& b, BlockMemory& memory, Crew& by);

// lower/interpret_arithmetic.cc.
void run(const Compute& c, const std::vector<double>& scalars, BlockMemory& memory, Crew& by);
void run(const ReduceLanes& r, BlockMemory& memory, Crew& by);

// lower/interpret_matrices.cc.
void run(const LoadMatrix& l, BlockMemory& memory, Crew& by);
void run(const Mma& m, BlockMemory& memory, Crew& by);
void run(const Wgmma& m, BlockMemory& memory, Crew& by);
void run(const Tcgen05Mma& m, BlockMemory& memory, Crew& by);
void run(const Tcgen05Load& l, BlockMemory& memory, Crew& by);
void run(const WgmmaFence& begin, Crew& by);
void run(const WgmmaCommitWait& end, Crew& by);

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block uses a cached operand in one reduction step: the accesses of its first warp to the scratchpad, and how
// many of them all its warps make.

#include <cstdint>

#include "base/units.h"
#include "model/simt/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

struct CachedUse {
  AccessPattern write, read;
  double writes = 0;  // instructions that copy the tile into the scratchpad
  double reads = 0;   // accesses that read the elements of all threads, over all iterations of the step
  // `reads` without repeats of equal ones within a loop body; 0 where the multiplying instruction reads the scratchpad
  // itself.
  double read_instructions = 0;
};

// Elements that a thread reads of a cached operand in one step, wherever rows lie, and the share `left` of them where
// equal reads within a loop body are made once. Only kernels of multiply-adds (tile::Fma) use it.
struct StepReads {
  double elements = 0, left = 1;
};
StepReads step_reads(const tile::StageProgram& p, std::size_t operand);

// The use of a cached operand. `max_access` bounds the width of one read. `reads_of_step` is step_reads(p, operand).
CachedUse cached_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access,
                     const StepReads& reads_of_step);
inline CachedUse cached_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                            base::Bytes max_access) {
  return cached_use(p, operand, warp, max_access, step_reads(p, operand));
}

}  // namespace tilescope::model

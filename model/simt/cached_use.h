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
  double reads = 0;   // accesses with which threads read their elements, in every iteration of the reduction
  // Those that are left where equal ones are made once; none where the instruction that multiplies reads for itself.
  double read_instructions = 0;
};

// What a thread reads of a cached operand in one step, wherever rows lie: elements, and the share of them that is left
// where a body's equal ones are read once. Of no use to kernels whose instructions read for themselves.
struct StepReads {
  double elements = 0, left = 1;
};
StepReads step_reads(const tile::StageProgram& p, std::size_t operand);

// `max_access` bounds the width of one read. `reads_of_step` are those of the operand.
CachedUse cached_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access,
                     const StepReads& reads_of_step);
inline CachedUse cached_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp,
                            base::Bytes max_access) {
  return cached_use(p, operand, warp, max_access, step_reads(p, operand));
}

}  // namespace tilescope::model

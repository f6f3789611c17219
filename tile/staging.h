// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the tiles that a block stages lie in its scratchpad: what fits there, for every reader of a program.

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// One tile after the other, in the order of the inputs, each with all its stages (StageProgram::stages_held) and
// aligned for the chip's widest access, or for boxes. Results that leave through the scratchpad begin where the tiles
// do. Behind them, for boxes, what says of every stage that it is full or empty, and of results that they are there.
struct StagingLayout {
  base::FixedVector<base::Bytes, kMaxOperands> begins;  // by input; 0 of one that is not cached
  base::Bytes mbarriers;  // where they begin, two for each stage and one of results; of no use without boxes
  base::Bytes bytes;      // of the block
};

StagingLayout staging_of(const StageProgram& p, const arch::ArchSpec& a);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of a block's scratchpad: the offsets of cached tiles, results and mbarriers. All code that uses programs
// relies on it.

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// The least alignment of areas in the scratchpad, in bytes. On any chip, emitted text moves a thread's copies in
// vectors of at most this many bytes.
inline constexpr std::int64_t kStagingAlignment = 16;

// Tiles follow each other in the order of the inputs, each with all its stages (StageProgram::stages_held), aligned for
// the chip's widest access or for TMA. Results that leave through the scratchpad, and those of threads that share a
// reduction, begin where the tiles do; persistent blocks, which load the next tile's operands at the same time, have
// them behind the tiles, crew after crew. Programs with TMA have mbarriers after them: a full and an empty one for each
// stage, and one for each crew's results that leave through the scratchpad.
struct StagingLayout {
  base::FixedVector<base::Bytes, kMaxOperands> begins;  // offsets by input; 0 for one that is not cached
  base::Bytes results;    // offset of results that leave through the scratchpad, those of the first crew
  base::Bytes mbarriers;  // their offset: two for each stage, and one for results; meaningless without TMA
  base::Bytes bytes;      // total of the block
};

StagingLayout staging_of(const StageProgram& p, const arch::CoreSpec& core);

}  // namespace tilescope::tile

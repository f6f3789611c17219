// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of a block's scratchpad: where cached tiles, results and mbarriers lie. Every reader of a program uses it.

#include "arch/spec.h"
#include "tile/program.h"

namespace tilescope::tile {

// The least that areas of a scratchpad begin at multiples of, in bytes: emitted text moves what a thread copies in
// vectors of at most that many, on any chip.
inline constexpr std::int64_t kStagingAlignment = 16;

// Tiles follow each other in the order of the inputs, each with all its stages (StageProgram::stages_held), aligned for
// the chip's widest access or for TMA. Results that leave through the scratchpad, and those of threads that share
// a reduction, begin where the tiles do. Programs
// with TMA have mbarriers behind them: a full and an empty one for each stage, and one for results.
struct StagingLayout {
  base::FixedVector<base::Bytes, kMaxOperands> begins;  // bytes, by input; 0 of one that is not cached
  base::Bytes mbarriers;  // where they begin: two for each stage and one of results; meaningless without TMA
  base::Bytes bytes;      // of the block
};

StagingLayout staging_of(const StageProgram& p, const arch::CoreSpec& core);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many blocks a core keeps resident, and what one thread needs of its registers.

#include <cstdint>

#include "model/common/estimate.h"
#include "model/simt/counts.h"
#include "model/simt/machine.h"

namespace tilescope::model {

// Registers that so many blocks of so many threads leave each thread: every partition of a core has its share of them
// and of the warps in turn, and one block has to fit by whole rounds of its warps (NVIDIA, cuda_occupancy.h).
std::int64_t registers_left(const Machine& m, std::int64_t threads, std::int64_t blocks);

// What a block takes of its core, and how many there are where they are persistent; 0: a block for each tile.
struct BlockNeeds {
  std::int64_t threads = 0;  // producers among them
  base::Bytes scratchpad;
  std::int64_t registers = 0, further_registers = 0;  // of a thread: of the stage, of what else is under way
  std::int64_t stated_registers = 0;                  // that its compiler is held to; 0: that is its own business
  std::int64_t tensor_columns = 0;                    // of the block
  std::int64_t launched = 0;
};
BlockNeeds needs_of(const Counts& c);

Occupancy occupancy_of(const BlockNeeds& needs, const Machine& m);

// The registers that such a block's program states: those that it needs, and a tenth more where that costs no resident
// block; of persistent blocks as many as there are.
std::int64_t held_registers(BlockNeeds needs, const Machine& m);

}  // namespace tilescope::model

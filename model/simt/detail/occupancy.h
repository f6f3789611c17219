// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many blocks a core keeps resident, and what one thread needs of its registers.

#include <cstdint>

#include "model/common/estimate.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// Registers that so many blocks of so many threads leave each thread: every partition of a core has its share of them
// and of the warps in turn, and one block has to fit by whole rounds of its warps (NVIDIA, cuda_occupancy.h).
std::int64_t registers_left(const Machine& m, std::int64_t threads, std::int64_t blocks);

// Of a kernel that has the stage, whose blocks take so much of the scratchpad, and so many registers of a thread for
// what else is under way.
Occupancy occupancy_of(const tile::StageProgram& p, const Machine& m, base::Bytes scratchpad,
                       std::int64_t further_registers = 0);

}  // namespace tilescope::model

#pragma once
// How many blocks a core keeps resident, and what one thread needs of its registers.

#include <cstdint>
#include <string_view>

#include "model/machine.h"
#include "tile/program.h"

namespace tilescope::model {

struct Occupancy {
  std::int64_t registers_per_thread = 0;  // 32-bit, what the compiler is expected to use
  std::int64_t spilled_per_thread = 0;    // values that do not fit and live in local memory
  std::int64_t blocks_per_core = 1;
  double ratio = 0;             // resident threads over the most a core can have
  std::string_view limited_by;  // threads, blocks, scratchpad or registers
};

// Registers that so many blocks of so many threads leave each thread: every partition of a core has its share of them
// and of the warps in turn, and one block has to fit by whole rounds of its warps (NVIDIA, cuda_occupancy.h).
std::int64_t registers_left(const Machine& m, std::int64_t threads, std::int64_t blocks);

Occupancy occupancy_of(const tile::StageProgram& p, const Machine& m);

}  // namespace tilescope::model

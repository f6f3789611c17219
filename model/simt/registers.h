// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many registers a compiler gives a thread: an estimate from what the program keeps. Kernels of lower/ are told how
// many they may have; what others' compilers did is not known, and guessed from less.

#include <cstdint>

#include "model/simt/counts.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// 32-bit registers that a thread needs so that nothing spills: of the kernel that lower/ makes of the program where it
// says its `registers`, else of one that other compilers made. docs/model.md has how far it is off.
std::int64_t registers_needed(const tile::StageProgram& p, const Geometry& g);

// Of those, what the sums of a thread take.
std::int64_t registers_of_sums(const tile::StageProgram& p);

// All of them; of those, sums and what it multiplies at a time in a kernel of lower/; and sums alone.
struct Registers {
  std::int64_t needed = 0, of_products = 0, of_sums = 0;
};
Registers registers_of(const tile::StageProgram& p, const Geometry& g);

// What a program of these counts states for its compiler: the registers that it needs, and a tenth more where that
// costs no resident block.
std::int64_t held_registers(const Counts& c, const Machine& m);

// The program, its compiler held to what the estimate says, and to a tenth more where that costs no resident block.
tile::StageProgram with_max_registers(tile::StageProgram p, const Machine& m);

}  // namespace tilescope::model

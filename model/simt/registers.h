// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many registers a compiler gives a thread: an estimate from what the program keeps. Kernels of lower/ state a
// limit; what the compilers of other kernels did is unknown, and the estimate has less to go by.

#include <cstdint>

#include "model/simt/counts.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// 32-bit registers that a thread needs so that nothing spills. The kernel is the one that lower/ makes where the
// program states its `registers`, else one of another compiler. docs/model.md has the error of the estimate.
std::int64_t registers_needed(const tile::StageProgram& p, const Geometry& g);

// The part of them that a thread's sums take.
std::int64_t registers_of_sums(const tile::StageProgram& p);

Registers registers_of(const tile::StageProgram& p, const Geometry& g);

// Whether a compiler that is held to so many registers makes a kernel worth running. Without a reduction smaller tiles
// compute the same and spill nothing. Compilers refuse fewer than the least (NVRTC: C7602).
bool is_worth_compiling(const tile::StageProgram& p, const Registers& needs, std::int64_t held);

// The register limit that a program of these counts states for its compiler: the registers that it needs, and a tenth
// more where that costs no resident block.
std::int64_t held_registers(const Counts& c, const Machine& m);

// The program with its register limit set to the estimate, and to a tenth more where that costs no resident block.
// `block_threads`: those of the block, where other stages of its kernel have more.
tile::StageProgram with_max_registers(tile::StageProgram p, const Machine& m, std::int64_t block_threads = 0);

}  // namespace tilescope::model

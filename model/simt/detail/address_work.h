// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that a thread issues for addresses, guards and loops, counted from the program. An address that moves
// with the steps is a pointer of 64 bits, moved on; one of collapsed loops is taken apart by a division a loop, and
// added to its array's pointer. A guard that can fail is a comparison, and an addition where it fails below too. What
// does not change in a loop is computed before it.
//
// Ignores: what a compiler computes again for want of registers, moves, loops that compilers unroll by themselves.
// How far off it is: tests/unit/model/machine_code_test.cc.

#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// Of one of `steps` steps: a thread's pieces of a cached operand, `requests` of them, each with an address of its own
// unless they lie evenly; where they lie in the tile is computed once.
double instructions_beside_copies(const tile::StageProgram& p, std::size_t operand, double requests, double steps,
                                  const Geometry& m);

// Of one step: reads of an operand that is not cached.
double instructions_beside_reads(const tile::StageProgram& p, std::size_t operand, const Geometry& m);

// Of one step: loops over register tiles that are not unrolled, and places in the scratchpad that move with them.
double instructions_of_loops(const tile::StageProgram& p);

// Of all `accesses` with which a thread stores its results, and of finding out which block it is of.
double instructions_beside_stores(const tile::StageProgram& p, double accesses, const Geometry& m);

}  // namespace tilescope::model

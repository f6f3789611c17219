// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that a thread issues for addresses, guards and loops, counted from the program: what a piece of a copy,
// a register tile's reads and a row of results need beside the access itself. An address that moves with the steps is
// one addition and one that widens it; coordinates of a collapsed loop are divisions, a multiplication, a shift and a
// remainder each; a guard that can fail is a comparison, and an addition where it fails below too.
//
// Ignores: what a compiler computes again for want of registers, moves, how many predicates there are.

#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// Of one step: a thread's pieces of a cached operand, `requests` of them, each with an address of its own unless they
// lie evenly.
double instructions_beside_copies(const tile::StageProgram& p, std::size_t operand, double requests);

// Of one step: reads of an operand that is not cached.
double instructions_beside_reads(const tile::StageProgram& p, std::size_t operand);

// Of one step: loops over register tiles that are not unrolled, and places in the scratchpad that move with them.
double instructions_of_loops(const tile::StageProgram& p);

// Of all `accesses` with which a thread stores its results.
double instructions_beside_stores(const tile::StageProgram& p, double accesses);

}  // namespace tilescope::model

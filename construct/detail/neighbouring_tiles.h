// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles next to one that construction has laid out. Growth (tiles.h) ranks tiles before anything is known of their
// layouts; from a program that is good these moves find the better ones beside it, whatever growth thought of them.

#include <vector>

#include "construct/detail/layout.h"
#include "tile/program.h"

namespace tilescope::construct {

// Adds the programs whose tiles are one move from a program's, laid out as it is; not all of them fit the chip. A move
// is along one axis: the register tile twice or half as wide or as it is, and the block as it is, with as many threads,
// or the next one up or down of the extents that blocks grow through. Or it is from one axis to another: half the
// register tile here and twice there in the same block, or half the threads here and twice there. Threads fill warps
// and blocks end on transactions (rules 1 and 2). A larger block also comes with half the reduction's step; a larger or
// smaller one of a reduction also with twice or half the parts, so that there are about as many blocks. Nothing of
// programs whose threads share reductions, which construction tries in all their tiles.
void neighbouring_tiles(const tile::StageProgram& p, const LayoutRules& rules, std::vector<tile::StageProgram>& out);

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the tiles of a group lie in a block's scratchpad.

#include "arch/spec.h"
#include "tile/group.h"

namespace tilescope::tile {

// Sets where each stage's cached tiles, kept results and factors begin, and the bytes of all: areas that are needed at
// a time lie apart; the larger ones first, each as low as it can. The rest of the layout is known.
void place_areas(const RProgram& p, const arch::ArchSpec& a, GroupLayout& layout);

}  // namespace tilescope::tile

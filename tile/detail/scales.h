// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of products of two factors that further factors scale, of which many iterations share an element.

#include "tile/space.h"

namespace tilescope::tile {

// Finds the scales among the inputs of a space that gathers nothing, and puts them behind the factors
// (TileSpace::scale_depth). Leaves the inputs in the order of their reads where there are none.
void find_scales(TileSpace& space);

}  // namespace tilescope::tile

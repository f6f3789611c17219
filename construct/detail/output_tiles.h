// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of what a kernel of several stages writes, among which its search ranks.

#include <cstddef>
#include <vector>

#include "tile/space.h"

namespace tilescope::construct {

// All tiles of a stage's spatial axes whose extents are powers of two, up to a limit, or the whole axis; powers of four
// or more where there would be more than `max` tiles.
std::vector<tile::Extents> output_tiles(const tile::TileSpace& space, std::size_t max = 4096);

}  // namespace tilescope::construct

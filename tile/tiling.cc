// SPDX-License-Identifier: Apache-2.0
#include "tile/tiling.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::tile {

std::int64_t Tiling::blocks_along(std::size_t spatial_axis) const {
  return base::ceil_div(space->axes[spatial_axis].extent, block[spatial_axis]);
}

std::int64_t Tiling::blocks() const {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < space->axes.size(); ++a) n *= a < space->spatial ? blocks_along(a) : split[a];
  return n;
}

std::int64_t Tiling::steps() const {
  std::int64_t n = 1;
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    n *= base::ceil_div(base::ceil_div(space->axes[a].extent, split[a]), block[a]);
  return n;
}

bool Tiling::is_split() const {
  return std::any_of(split.begin(), split.end(), [](std::int64_t parts) { return parts > 1; });
}

std::int64_t Tiling::iterations_along(std::size_t axis) const {
  return std::min(block[axis], base::ceil_div(space->axes[axis].extent, split[axis]));
}

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/output_tiles.h"

#include <cstdint>
#include <utility>

namespace tilescope::construct {
namespace {

// The longest extent along an axis but the whole: rows that are kept have at most this many elements, or are whole.
constexpr std::int64_t kLongest = 1024;

std::vector<std::int64_t> choices_along(std::int64_t extent, std::int64_t factor) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n < extent && n <= kLongest; n *= factor) out.push_back(n);
  out.push_back(extent);
  return out;
}

std::int64_t factor_of_choices(const tile::TileSpace& space, std::size_t max) {
  for (std::int64_t factor = 2;; factor *= 2) {
    std::size_t tiles = 1;
    for (std::size_t a = 0; a < space.spatial; ++a) tiles *= choices_along(space.axes[a].extent, factor).size();
    if (tiles <= max || factor > kLongest) return factor;
  }
}

}  // namespace

std::vector<tile::Extents> output_tiles(const tile::TileSpace& space, std::size_t max) {
  const std::int64_t factor = factor_of_choices(space, max);
  std::vector<tile::Extents> all = {tile::Extents{}};
  for (std::size_t a = 0; a < space.spatial; ++a) {
    std::vector<tile::Extents> longer;
    for (const tile::Extents& e : all)
      for (const std::int64_t n : choices_along(space.axes[a].extent, factor)) {
        longer.push_back(e);
        longer.back().push_back(n);
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace tilescope::construct

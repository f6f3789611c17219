// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of one level, grown one axis at a time (ROLLER OSDI'22, section 3.3): the successor first that saves most
// traffic per element of footprint.

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tile/space.h"

namespace tilescope::construct {

// A tile of one level: what one thread keeps in registers, or what the threads of one block compute together.
struct LevelTile {
  tile::Extents extents;
  double traffic = 0;    // elements that the whole stage moves through this level under the tile
  double footprint = 0;  // what the tile keeps: registers of a thread, elements of a block
};

// A thread keeps the elements that it reads; a block caches the whole data tile that holds them.
enum class Level : std::uint8_t { kThread, kBlock };

// What a tile with that axis grown to `extent` moves, of what it moves as it is.
double traffic_ratio(const tile::TileSpace& space, const tile::Extents& tile, std::size_t axis, std::int64_t extent,
                     Level level);

// Extents that a tile may have along a spatial axis, ascending, and along all of them; it begins with the first ones.
using Choices = boost::container::small_vector<std::int64_t, 24>;
using AxisChoices = std::array<Choices, tile::kMaxAxes>;

// Tiles that are visited a level; the reuse score decides which come first.
inline constexpr std::size_t kMaxTiles = 48;

// What a level keeps of a tile, and how much of it.
struct LevelLimits {
  double of_input = 1, of_output = 0;  // footprint of an element
  double footprint = std::numeric_limits<double>::infinity();
  std::int64_t parts = std::numeric_limits<std::int64_t>::max();  // tiles of the first extents that one may hold
};

// The tiles that are visited, in that order, each once: from the first extents on, reduced axes as in `first`. None
// where the first does not fit.
std::vector<LevelTile> grown(const tile::TileSpace& space, Level level, const tile::Extents& first,
                             const AxisChoices& choices, const LevelLimits& limits);

}  // namespace tilescope::construct

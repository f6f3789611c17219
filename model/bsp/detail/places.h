// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a core stands in the grid of a stage, and in the rings of its inputs.

#include <cstdint>

#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

// A core's number along an axis of the grid.
inline std::int64_t coordinate(const tile::BspStage& s, std::size_t axis, std::int64_t core) {
  return core / s.core_stride(axis) % s.grid[axis];
}

// A core's number among those that share an input's part, in the order of the grid.
std::int64_t number_of_sharer(const tile::BspStage& s, std::size_t input, std::int64_t core);
// The core with that number, at the first part of the input.
std::int64_t sharer(const tile::BspStage& s, std::size_t input, std::int64_t number);
// A core's place in its ring of an input.
std::int64_t place_in_ring(const tile::BspStage& s, std::size_t input, std::int64_t core);

}  // namespace tilescope::model::bsp

// SPDX-License-Identifier: Apache-2.0
#include "model/bsp/detail/places.h"

namespace tilescope::model::bsp {

std::int64_t number_of_sharer(const tile::BspStage& s, std::size_t input, std::int64_t core) {
  std::int64_t n = 0;
  for (const int axis : s.core_order)
    if (!s.space->inputs[input].uses(axis))
      n = n * s.grid[static_cast<std::size_t>(axis)] + coordinate(s, static_cast<std::size_t>(axis), core);
  return n;
}

std::int64_t sharer(const tile::BspStage& s, std::size_t input, std::int64_t number) {
  std::int64_t core = 0;
  for (auto axis = s.core_order.rbegin(); axis != s.core_order.rend(); ++axis) {
    const auto a = static_cast<std::size_t>(*axis);
    if (s.space->inputs[input].uses(*axis)) continue;
    core += number % s.grid[a] * s.core_stride(a);
    number /= s.grid[a];
  }
  return core;
}

std::int64_t place_in_ring(const tile::BspStage& s, std::size_t input, std::int64_t core) {
  const std::int64_t ring = s.dataflow[input].ring, i = number_of_sharer(s, input, core) % ring;
  // A folded ring goes along every other core and comes back along those between.
  return !s.folded ? i : i % 2 == 0 ? i / 2 : ring - (i + 1) / 2;
}

}  // namespace tilescope::model::bsp

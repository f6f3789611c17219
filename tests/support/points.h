// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plain enumeration of iteration points, the oracle that tiles and traffic are compared with: it knows expressions and
// what collapse means, and nothing of tile/'s formulas.

#include <cstdint>
#include <vector>

#include "expr/extent.h"
#include "tile/space.h"

namespace tilescope::tests {

using Point = std::vector<std::int64_t>;

// Every index with 0 <= index[a] < extents[a], the last one fastest.
template <class Visit>
void each_index(const Point& extents, Visit visit) {
  Point index(extents.size(), 0);
  for (const std::int64_t n : extents)
    if (n <= 0) return;
  while (true) {
    visit(index);
    std::size_t a = extents.size();
    while (a > 0 && ++index[a - 1] == extents[a - 1]) index[--a] = 0;
    if (a == 0) return;
  }
}

inline Point to_point(const tile::Extents& e) { return {e.begin(), e.end()}; }

// The stage's loops at an index of the tile axes: a collapsed loop counts its parts, the last one fastest.
inline Point stage_point(const tile::TileSpace& space, const Point& tile_index) {
  Point point(space.stage().axes.size(), 0);
  for (std::size_t g = 0; g < space.axes.size(); ++g) {
    std::int64_t rest = tile_index[g];
    const std::vector<int>& loops = space.axes[g].axes;
    for (std::size_t i = loops.size(); i-- > 0;) {
      const auto loop = static_cast<std::size_t>(loops[i]);
      const std::int64_t size = space.stage().axes[loop].size;
      point[loop] = i == 0 ? rest : rest % size;
      rest /= size;
    }
  }
  return point;
}

// The reads of an operand; the output is written at its spatial loops in order.
inline std::vector<expr::Read> reads_of(const tile::TileSpace& space, std::size_t operand) {
  std::vector<expr::Read> out;
  for (const int r : space.operand(operand).reads) out.push_back(space.stage().reads[static_cast<std::size_t>(r)]);
  if (operand < space.inputs.size()) return out;
  expr::Read written{space.stage().output, {}};
  for (std::size_t a = 0; a < space.stage().spatial_count(); ++a) {
    expr::Coordinate c;
    c.terms.push_back({static_cast<int>(a), 1});
    written.at.push_back(c);
  }
  return {written};
}

inline Point coordinates_at(const expr::Read& read, const Point& point) {
  Point out;
  for (const expr::Coordinate& c : read.at) out.push_back(expr::value_at(c, point));
  return out;
}

// Row-major element of a coordinate, which need not lie inside the tensor.
inline std::int64_t flat_element(const tile::TileSpace& space, const expr::Read& read, const Point& coordinates) {
  const auto& shape = space.expression.tensors[static_cast<std::size_t>(read.tensor)].shape;
  std::int64_t element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + coordinates[d];
  return element;
}

inline bool inside(const tile::TileSpace& space, const expr::Read& read, const Point& coordinates) {
  const auto& shape = space.expression.tensors[static_cast<std::size_t>(read.tensor)].shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (coordinates[d] < 0 || coordinates[d] >= shape[d]) return false;
  return true;
}

}  // namespace tilescope::tests

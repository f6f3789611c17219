// SPDX-License-Identifier: Apache-2.0
#include "tile/space.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/integer.h"

namespace tilescope::tile {

int Operand::dims_of(int tile_axis) const {
  int n = 0;
  for (const TileDim& d : dims)
    for (const expr::Term& t : d.terms)
      if (t.axis == tile_axis) {
        ++n;
        break;
      }
  return n;
}

int Operand::contiguous_axis() const {
  if (dims.empty()) return -1;
  const TileDim& last = dims.back();
  if (last.whole || last.terms.size() != 1 || last.terms[0].coefficient != 1) return -1;
  if (steps.back().front().stride != 1 || dims_of(last.terms[0].axis) != 1) return -1;
  return last.terms[0].axis;
}
namespace {

using expr::Term;

// Extent of one dimension of a data tile.
std::int64_t extent_under(const TileDim& d, const Extents& tile) {
  if (d.whole && d.shared_by == 1) return d.extent;
  if (d.whole) return (tile[static_cast<std::size_t>(d.terms.front().axis)] - 1) / d.shared_by + 1;
  std::int64_t n = 1 + d.spread;
  if (d.terms.size() == 1) {  // nearly always: no loop is begun
    const Term& t = d.terms.front();
    return n + (tile[static_cast<std::size_t>(t.axis)] - 1) * std::abs(t.coefficient);
  }
  for (const Term& t : d.terms) n += (tile[static_cast<std::size_t>(t.axis)] - 1) * std::abs(t.coefficient);
  return n;
}

}  // namespace

TileShape data_tile(const Operand& operand, const Extents& tile) {
  TileShape shape(operand.dims.size(), 0);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = extent_under(operand.dims[d], tile);
  return shape;
}

std::int64_t data_tile_elements(const Operand& operand, const Extents& tile, std::int64_t padding) {
  std::int64_t n = 1;
  for (const TileDim& d : operand.dims) n *= extent_under(d, tile) + (&d == &operand.dims.back() ? padding : 0);
  return n;
}

std::int64_t data_tile_elements_inside(const Operand& operand, const Extents& tile) {
  std::int64_t n = 1;
  for (const TileDim& d : operand.dims) n *= std::min(extent_under(d, tile), d.extent);
  return n;
}

double touched_elements(const Operand& operand, const Extents& tile) {
  double by_dims = 1, by_points = 1;
  std::array<bool, kMaxAxes> counted{};
  for (const TileDim& d : operand.dims) {
    const double taps = 1 + static_cast<double>(d.spread);
    double of_dim = taps;
    by_points *= taps;
    for (const Term& t : d.terms) {
      const auto axis = static_cast<std::size_t>(t.axis);
      of_dim *= static_cast<double>(tile[axis]);
      if (!counted[axis]) by_points *= static_cast<double>(tile[axis]);
      counted[axis] = true;
    }
    by_dims *= std::min(of_dim, static_cast<double>(extent_under(d, tile)));
  }
  return std::min(by_dims, by_points);
}

bool taps_overlap(const TileSpace& space, std::size_t reduced) {
  for (const Operand& o : space.inputs) {
    if (o.im2col) continue;
    for (const TileDim& d : o.dims) {
      bool taps = false, spatial = false;
      for (const Term& t : d.terms) {
        taps = taps || t.axis == static_cast<int>(reduced);
        spatial = spatial || static_cast<std::size_t>(t.axis) < space.spatial;
      }
      if (taps && spatial && !d.whole) return true;
    }
  }
  return false;
}

std::optional<std::size_t> longest_reduced_axis(const TileSpace& space) {
  std::optional<std::size_t> longest;
  for (std::size_t a = space.spatial; a < space.axes.size(); ++a)
    if (!longest || space.axes[a].extent > space.axes[*longest].extent) longest = a;
  return longest;
}

Runs runs_of(const Operand& operand, const Extents& tile) {
  Runs runs;
  if (operand.dims.empty()) return runs;
  const std::size_t last = operand.dims.size() - 1;
  const auto inside = [&](std::size_t d) {
    return std::min(extent_under(operand.dims[d], tile), operand.dims[d].extent);
  };
  if (operand.im2col) {
    const CollapsedStep& inner = operand.steps[last].front();
    const std::int64_t n = inside(last);
    runs.length = std::min(n, inner.size);
    runs.stride = std::max<std::int64_t>(1, inner.stride);
    runs.count = base::ceil_div(n, runs.length);
    for (std::size_t d = 0; d < last; ++d) runs.count *= inside(d);
    return runs;
  }
  bool joined = true;  // every faster dimension is taken whole
  for (std::size_t d = last + 1; d-- > 0;) {
    const std::int64_t n = inside(d);
    (joined ? runs.length : runs.count) *= n;
    joined = joined && n == operand.dims[d].extent;
  }
  return runs;
}

std::int64_t memory_offset(const Operand& operand, std::size_t dim, std::int64_t index) {
  std::int64_t offset = 0;
  for (const CollapsedStep& s : operand.steps[dim]) {
    if (index < s.period) break;  // this loop and all slower ones stand at zero
    offset += index / s.period % s.size * s.stride;
  }
  // The first step has period 1, so index 0 alone ends the loop before it; the offset is then 0 as it should be.
  return offset;
}

}  // namespace tilescope::tile

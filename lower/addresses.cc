// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/addresses.h"

#include <algorithm>

#include "base/check.h"

namespace tilescope::lower {

using tile::Operand;
using tile::TileDim;

namespace {

// Sum of a dimension's terms over the tile axes.
Affine sum_of_terms(const TileDim& dim, const std::vector<Affine>& axes) {
  Affine sum;
  for (const expr::Term& t : dim.terms) sum = sum + axes[static_cast<std::size_t>(t.axis)] * t.coefficient;
  return sum;
}

// From a coordinate's lowest value in a block to its value at the tile axes' beginnings: a negative coefficient begins
// at the far end.
std::int64_t far_end(const TileDim& dim, const tile::Extents& block) {
  std::int64_t shift = 0;
  for (const expr::Term& t : dim.terms)
    if (t.coefficient < 0) shift -= t.coefficient * (block[static_cast<std::size_t>(t.axis)] - 1);
  return shift;
}

}  // namespace

const std::vector<std::int64_t>& Addresses::shape_of(const Operand& o) const {
  return space_.expression.tensors[static_cast<std::size_t>(o.tensor)].shape;
}

void Addresses::guard(const Affine& value, std::int64_t bound, std::vector<Guard>& inside) const {
  const expr::Span range = maker_.range(value);
  if (range.low < 0 || range.high >= bound) inside.push_back({value, bound});
}

Affine Addresses::stage_axis(int axis, const std::vector<Affine>& axes) {
  for (std::size_t g = 0; g < space_.axes.size(); ++g) {
    const std::vector<int>& loops = space_.axes[g].axes;
    std::int64_t period = 1;
    for (std::size_t i = loops.size(); i-- > 0;) {
      const expr::Axis& loop = stage().axes[static_cast<std::size_t>(loops[i])];
      // The slowest loop may overhang, so that guards see it.
      if (loops[i] == axis) return maker_.quotient(axes[g], period, i == 0 ? 0 : loop.size, loop.name);
      period *= loop.size;
    }
  }
  base::check(false, "every axis of a stage is in a tile axis");
  return {};
}

Affine Addresses::coordinate(const expr::Coordinate& c, const std::vector<Affine>& axes) {
  Affine sum = constant(c.offset);
  for (const expr::Term& t : c.terms) sum = sum + stage_axis(t.axis, axes) * t.coefficient;
  return c.affine() ? sum : maker_.quotient(sum, c.divisor, c.modulus, "at");
}

Located Addresses::in_dims(const Operand& o, const std::vector<Affine>& at) const {
  Located out;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    guard(at[d], o.dims[d].extent, out.inside);
    if (o.dims[d].extent > 1) out.offset = out.offset + at[d] * o.steps[d].front().stride;
  }
  return out;
}

Located Addresses::by_stage_axes(const Operand& o, const expr::Read& read, const std::vector<Affine>& axes) {
  const std::vector<std::int64_t>& shape = shape_of(o);
  Located out;
  std::int64_t stride = 1, begin = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const Affine at = coordinate(read.at[d], axes);
    guard(at, shape[d], out.inside);
    out.offset = out.offset + at * stride;
    begin += read.at[d].offset * stride;
    stride *= shape[d];
  }
  const bool affine = std::all_of(read.at.begin(), read.at.end(), [](const expr::Coordinate& c) { return c.affine(); });
  if (affine) out.offset = by_runs(o, axes) + constant(begin);
  return out;
}

// The same offset from whole runs of memory, which is seen to be aligned where single loops are not.
Affine Addresses::by_runs(const Operand& o, const std::vector<Affine>& axes) {
  Affine offset;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const auto axis = static_cast<std::size_t>(o.dims[d].terms[0].axis);
    for (const tile::CollapsedStep& run : o.steps[d]) {
      if (run.size == 1 && !run.goes_on) continue;  // what is not 0 there is outside
      const bool slowest = &run == &o.steps[d].back();
      const Affine at =
          maker_.quotient(axes[axis], run.period, slowest ? 0 : run.size, space_.axes[axis].name + "_run");
      offset = offset + at * run.stride;
    }
  }
  return offset;
}

const expr::Coordinate& Addresses::coordinate_of(const Operand& o, const expr::Read& read, const TileDim& dim) const {
  static const expr::Coordinate kFirst;  // of a dimension of one element behind the tensor's last one
  if (!o.gathered) return read.at[dim.first_dim];
  const tile::GatheredDim& g = *o.gathered;
  if (g.gives(dim)) return stage().reads[static_cast<std::size_t>(g.read)].at[dim.first_dim - g.dim];
  const std::size_t own = dim.first_dim < g.dim ? dim.first_dim : dim.first_dim - g.table_dims + 1;
  return own == read.at.size() ? kFirst : read.at[own];
}

Located Addresses::in_memory(const Operand& o, const expr::Read& read, const std::vector<Affine>& axes) {
  if (o.im2col) return by_stage_axes(o, read, axes);
  std::vector<Affine> at;
  for (const TileDim& dim : o.dims) {
    const expr::Coordinate& c = coordinate_of(o, read, dim);
    at.push_back(dim.whole ? coordinate(c, axes) : sum_of_terms(dim, axes) + constant(c.offset));
  }
  return in_dims(o, at);
}

Located Addresses::gathered_in_memory(const Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                                      Affine& table) {
  const tile::GatheredDim& g = *o.gathered;
  Located index = in_memory(space_.inputs[g.table], stage().reads[static_cast<std::size_t>(g.read)], axes);
  Located out{{}, std::move(index.inside)};
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const TileDim& dim = o.dims[d];
    if (g.gives(dim) && dim.page == 1) continue;
    const expr::Coordinate& c = coordinate_of(o, read, dim);
    const Affine at = dim.whole ? coordinate(c, axes) : sum_of_terms(dim, axes) + constant(c.offset);
    guard(at, dim.extent, out.inside);
    if (dim.extent > 1) out.offset = out.offset + in_pages(o, dim, at).second * o.steps[d].front().stride;
  }
  table = std::move(index.offset);
  return out;
}

Located Addresses::tile_element(const Operand& o, const expr::Read& read, const std::vector<Affine>& at,
                                const std::vector<Affine>& begin) {
  if (o.im2col) {  // a dimension of the tile is a tile axis
    std::vector<Affine> axes = begin;
    for (std::size_t d = 0; d < o.dims.size(); ++d) {
      Affine& axis = axes[static_cast<std::size_t>(o.dims[d].terms[0].axis)];
      axis = axis + at[d];
    }
    return by_stage_axes(o, read, axes);
  }
  return in_dims(o, in_tensor(o, at, begin));
}

std::vector<Affine> Addresses::in_tensor(const Operand& o, const std::vector<Affine>& at,
                                         const std::vector<Affine>& begin) const {
  std::vector<Affine> out;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const TileDim& dim = o.dims[d];
    const Affine low = sum_of_terms(dim, begin) + constant(dim.low - far_end(dim, block_));
    out.push_back(dim.whole ? at[d] : low + at[d]);
  }
  return out;
}

std::pair<Affine, Affine> Addresses::in_pages(const Operand& o, const TileDim& dim, const Affine& at) {
  if (!o.gathered->gives(dim)) return {{}, at};
  if (dim.page == 1) return {at, {}};
  return {maker_.quotient(at, dim.page, 0, "page"), maker_.quotient(at, 1, dim.page, "row_of_page")};
}

// Along the table's dimensions an operand's strides are those of its rows, one for each element of the table.
Located Addresses::gathered_tile_element(const Operand& o, const std::vector<Affine>& at,
                                         const std::vector<Affine>& begin, Affine& table) {
  const std::vector<Affine> places = in_tensor(o, at, begin);
  Located out;
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    guard(places[d], o.dims[d].extent, out.inside);
    if (o.dims[d].extent == 1) continue;
    const std::int64_t stride = o.steps[d].front().stride;
    const auto [page, row] = in_pages(o, o.dims[d], places[d]);
    if (o.gathered->gives(o.dims[d])) table = table + page * (o.dims[d].page > 1 ? 1 : stride / o.gathered->stride);
    out.offset = out.offset + row * stride;
  }
  return out;
}

Located Addresses::in_kept_tile(const Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                                const std::vector<Affine>& begin, const tile::TileShape& shape,
                                const tile::TileShape& pitch) {
  Located out;
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    const Affine at = coordinate(read.at[d], axes);
    guard(at, shape_of(o)[d], out.inside);
    const Affine in_tile = at - begin[d];
    guard(in_tile, shape[d], out.inside);
    out.offset = out.offset + in_tile * pitch[d];
  }
  return out;
}

Located Addresses::in_tile_of(const std::vector<expr::Coordinate>& coordinates, const std::vector<Affine>& axes,
                              const std::vector<Affine>& begin, const tile::TileShape& shape,
                              const tile::TileShape& pitch) {
  Located out;
  for (std::size_t d = 0; d < coordinates.size(); ++d) {
    const Affine in_tile = coordinate(coordinates[d], axes) - begin[d];
    guard(in_tile, shape[d], out.inside);
    out.offset = out.offset + in_tile * pitch[d];
  }
  return out;
}

bool Addresses::neighbours_in_kept_tile(const Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                                        const std::vector<Affine>& begin, const tile::TileShape& shape,
                                        std::int64_t neighbours) {
  const std::size_t d = read.at.size() - 1;
  const auto together = [&](const Affine& first, std::int64_t bound) {
    const expr::Span range = maker_.range(first);
    if (range.low >= 0 && range.high + neighbours <= bound) return true;
    return bound % neighbours == 0 && alignment_of(first, neighbours) == neighbours;
  };
  const Affine at = coordinate(read.at[d], axes);
  return together(at, shape_of(o)[d]) && together(at - begin[d], shape[d]);
}

TilePlace Addresses::in_tile(const Operand& o, const expr::Read& read, const std::vector<Affine>& local,
                             const std::vector<Affine>& axes) {
  TilePlace out;
  for (const TileDim& dim : o.dims) {
    Affine at = sum_of_terms(dim, local);
    if (dim.whole) {
      at = coordinate(coordinate_of(o, read, dim), axes);
      guard(at, dim.extent, out.inside);
    } else if (!o.im2col) {
      at = at + constant(coordinate_of(o, read, dim).offset - dim.low + far_end(dim, block_));
    }
    out.at.push_back(std::move(at));
  }
  return out;
}

}  // namespace tilescope::lower

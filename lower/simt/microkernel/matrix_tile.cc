// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/matrix_tile.h"

#include <bit>
#include <ranges>

#include <fmt/format.h>

#include "tile/microkernel/row_reduction.h"

namespace tilescope::lower {

using arch::FragmentAxis;
using tile::FragmentDigit;

std::size_t bits_of(std::int64_t count) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count)) - 1);
}

MatrixSide MatrixTile::side(std::size_t i) const {
  return {.operand = i, .axis = i == 0 ? unit().rows : unit().columns, .unit = i == 0 ? unit().m : unit().n};
}

std::int64_t MatrixTile::extent_of_fragment(std::size_t axis) const {
  return axis == unit().rows ? unit().m : axis == unit().columns ? unit().n : 1;
}

std::vector<std::size_t> MatrixTile::axes_of(const MatrixSide& side) const {
  std::vector<std::size_t> out;
  for (std::size_t a = 0; a < s_.space().spatial; ++a)
    if (a != side.axis && s_.space().inputs[side.operand].uses(static_cast<int>(a))) out.push_back(a);
  out.push_back(side.axis);
  return out;
}

std::vector<AxisLoop> MatrixTile::loops(std::size_t axis, std::int64_t together) {
  const std::int64_t extent = extent_of_fragment(axis);
  std::vector<AxisLoop> loops = s_.indices.thread_loops(axis, extent * together);
  for (AxisLoop& l : loops) l.position /= extent;
  return loops;
}

std::vector<AxisLoop> MatrixTile::all_loops(const std::vector<std::size_t>& axes, std::size_t side,
                                            std::int64_t together) {
  std::vector<AxisLoop> out;
  for (const std::size_t a : axes)
    for (const AxisLoop& l : loops(a, a == side ? together : 1)) out.push_back(l);
  return out;
}

Affine MatrixTile::number(const std::vector<std::size_t>& axes, std::size_t side, std::int64_t together) {
  Affine number;
  for (const std::size_t a : axes)
    number = number * (s_.p.mapping[a].thread_extent() / extent_of_fragment(a)) +
             s_.indices.position(loops(a, a == side ? together : 1));
  return number;
}

std::vector<Affine> MatrixTile::local_values(const MatrixSide& side, std::int64_t together, const MatrixPlace& place) {
  std::vector<std::vector<AxisLoop>> by_axis(s_.space().axes.size());
  for (const std::size_t a : axes_of(side)) by_axis[a] = loops(a, a == side.axis ? together : 1);
  std::vector<Affine> local = s_.local_values(by_axis);
  local[side.axis] = local[side.axis] + place.side;
  local[unit().depth] = local[unit().depth] + place.deep;
  return local;
}

std::vector<Affine> MatrixTile::in_data_tile(const MatrixSide& side, std::int64_t together, const MatrixPlace& place,
                                             const StepPosition& at) {
  const std::vector<Affine> local = local_values(side, together, place);
  const tile::Operand& o = s_.space().inputs[side.operand];
  const auto r = static_cast<std::size_t>(o.reads.front());
  return s_.addresses.in_tile(o, s_.read(r), local, s_.absolute_values(local, at)).at;
}

// Inside the tile everywhere: it covers what the block reads (tile/group.h), and has a value for each of its places.
Affine MatrixTile::in_kept_tile(const MatrixSide& side, std::int64_t together, const MatrixPlace& place,
                                const StepPosition& at) {
  const std::vector<Affine> axes = s_.absolute_values(local_values(side, together, place), at);
  const tile::Operand& o = s_.space().inputs[side.operand];
  const auto r = static_cast<std::size_t>(o.reads.front());
  const KeptTile& tile = *s_.kept(r);
  return s_.addresses.in_kept_tile(o, s_.read(r), axes, tile.begin, tile.shape, tile.pitch).offset;
}

Affine MatrixTile::lane_digit(std::int64_t faster, std::int64_t count) {
  return count == 1 ? constant(0) : s_.maker().quotient(s_.maker().thread(), faster, count, "lane");
}

MatrixPlace MatrixTile::lane_place(const std::vector<FragmentDigit>& digits) {
  MatrixPlace place;
  for (const FragmentDigit& d : digits) {
    Affine& to = place.along(d.axis);
    to = to + lane_digit(d.faster, d.count) * d.step;
  }
  return place;
}

int MatrixTile::loop(const std::string& name, std::int64_t extent) {
  const auto known = loops_.find({name, extent});
  if (known != loops_.end()) return known->second;
  return loops_[{name, extent}] = s_.maker().loop(name, extent);
}

Affine MatrixTile::first_result(std::int64_t together) {
  return number(s_.results.axes, unit().columns, together) * results();
}

std::vector<FragmentDigit> MatrixTile::result_digits(std::int64_t vector) const {
  return tile::digits_of(unit().spec->fragments->c.elements, bits_of(vector));
}

int MatrixTile::result_loop(const FragmentDigit& d) { return loop(fmt::format("result_{}", d.faster), d.count); }

std::vector<std::vector<AxisLoop>> MatrixTile::result_loops(std::int64_t vector) {
  std::vector<std::vector<AxisLoop>> out(s_.space().axes.size());
  for (const std::size_t a : s_.results.axes) out[a] = loops(a, 1);
  for (const FragmentDigit& d : std::views::reverse(result_digits(vector)))
    out[d.axis == FragmentAxis::kRow ? unit().rows : unit().columns].push_back(
        {result_loop(d), d.count, d.step, d.faster});
  return out;
}

Affine MatrixTile::result_position(std::int64_t vector) {
  Affine in_fragment;
  for (const FragmentDigit& d : result_digits(vector))
    in_fragment = in_fragment + s_.maker().value(result_loop(d)) * d.faster;
  return first_result(1) + in_fragment;
}

void MatrixTile::add_lane(std::vector<Affine>& local) {
  for (const FragmentDigit& d : tile::digits_of(unit().spec->fragments->c.lanes)) {
    Affine& to = local[d.axis == FragmentAxis::kRow ? unit().rows : unit().columns];
    to = to + lane_digit(d.faster, d.count) * d.step;
  }
}

std::int64_t MatrixLowering::elements_of(std::size_t i) const {
  return tile::fragment_map(tile_.unit(), i).elements_of_lane();
}

Access MatrixLowering::held_fragment(std::size_t i) {
  const tile::MatrixUnit& u = tile_.unit();
  const MatrixSide side = tile_.side(i);
  Affine chunk;
  for (const AxisLoop& l : s_.indices.chunk_loops()) chunk = chunk + s_.maker().value(l.index);
  const std::int64_t chunks = s_.p.block[u.depth] / u.k;
  // In the order of the held tensor's axes, of which the depth is the last one.
  const tile::Operand& o = s_.space().inputs[i];
  std::vector<std::size_t> axes = *tile::axes_of_reads(s_.space(), s_.tensor_of(o).name);
  axes.pop_back();
  return {s_.place.held_inputs[i]->results->leaving,
          (tile_.number(axes, side.axis, 1) * chunks + chunk) * elements_of(i)};
}

}  // namespace tilescope::lower

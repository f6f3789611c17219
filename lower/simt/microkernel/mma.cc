// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/mma.h"

#include <ranges>
#include <span>

#include <fmt/format.h>

#include "arch/derive.h"

namespace tilescope::lower {

using tile::FragmentDigit;

void MmaLowering::add_registers() {
  s_.block.instruction(tile_.instruction());
  for (std::size_t i = 0; i < s_.space().values; ++i) {
    if (held(i)) {
      elements_.push_back(elements_of(i));
      loaded_.push_back(s_.place.held_inputs[i]->results->leaving);
      registers_.push_back(loaded_[i]);
      continue;
    }
    std::int64_t fragments = 1;
    for (const std::size_t a : tile_.axes_of(tile_.side(i)))
      fragments *= s_.p.mapping[a].thread_extent() / tile_.extent_of_fragment(a);
    const tile::Operand& o = s_.space().inputs[i];
    elements_.push_back(fragments * elements_of(i));
    loaded_.push_back(s_.block.registers(o.name + "_part", s_.tensor_of(o).dtype, elements_[i]));
    registers_.push_back(tile::is_converted(s_.p, i)
                             ? s_.block.registers(o.name + "_converted", s_.expression().dtype, elements_[i])
                             : loaded_[i]);
  }
}

Statement MmaLowering::convert_fragments(std::size_t i) {
  const int index = tile_.loop(s_.space().inputs[i].name + "_element", elements_[i]);
  const Affine element = s_.maker().value(index);
  const Compute convert{{registers_[i], element},
                        expr::Reducer::kNone,
                        {{.kind = expr::NodeKind::kRead, .index = 0}},
                        {{loaded_[i], element}}};
  return nest({{index, elements_[i], 1, 1}}, {{convert, {}}}, true).front();
}

std::vector<AxisLoop> MmaLowering::element_loops(std::size_t i, std::size_t first, Affine& to, MatrixPlace& place) {
  const std::vector<FragmentDigit> digits = tile::digits_of(tile::fragment_map(tile_.unit(), i).elements, first);
  std::vector<AxisLoop> loops;
  for (const FragmentDigit& d : std::views::reverse(digits)) {
    const int index = tile_.loop(fmt::format("{}_{}", s_.space().inputs[i].name, d.faster), d.count);
    loops.push_back({index, d.count, d.step, d.faster});
    to = to + s_.maker().value(index) * d.faster;
    Affine& along = place.along(d.axis);
    along = along + s_.maker().value(index) * d.step;
  }
  return loops;
}

Statement MmaLowering::load_fragments(std::size_t i, const StepPosition& at, const Affine& ring_stage) {
  const MatrixSide side = tile_.side(i);
  const tile::FragmentRead read = tile::fragment_read(s_.p, i, arch::widest_access_of(s_.chip));
  const arch::FragmentMap& map = tile::fragment_map(tile_.unit(), i);
  const std::vector<std::size_t> axes = tile_.axes_of(side);
  std::vector<AxisLoop> loops = tile_.all_loops(axes, side.axis, read.together);
  Affine to = tile_.number(axes, side.axis, read.together) * elements_of(i);
  const KeptTile* kept = s_.place.kept_inputs[i];
  const auto from = [&](std::int64_t together, const MatrixPlace& place, std::int64_t run) -> Access {
    if (kept == nullptr)
      return {s_.tiles[i].shared, in_ring_stage(i, tile_.in_data_tile(side, together, place, at), ring_stage)};
    Affine offset = tile_.in_kept_tile(side, together, place, at);
    s_.check_aligned(s_.space().inputs[i].name, {offset, {}}, run);
    return {kept->shared, std::move(offset)};
  };
  const auto nested = [&](auto what, const std::vector<AxisLoop>& inside) {
    loops.insert(loops.end(), inside.begin(), inside.end());
    return nest(loops, {{std::move(what), {}}}, true).front();
  };
  if (!read.by_rows()) {
    MatrixPlace place = tile_.lane_place(tile::digits_of(map.lanes));
    const std::vector<AxisLoop> inside = element_loops(i, bits_of(read.run), to, place);
    return nested(Copy{{loaded_[i], to}, from(1, place, read.run), read.run, {}, {}}, inside);
  }
  // A lane names the row of its number.
  MatrixPlace place = tile_.lane_place(tile::digits_of(std::span(read.rows.begin(), read.rows.end())));
  const std::vector<AxisLoop> inside = element_loops(i, bits_of(elements_of(i) / read.parts), to, place);
  LoadMatrix load;
  load.count = std::int64_t{1} << read.rows.size();
  load.map = tile::map_of_load(s_.p, i, read);
  load.transposed = read.how == tile::FragmentRead::How::kTransposedRows;
  load.rows = {{loaded_[i], to}, from(read.together, place, read.run), read.run, {}, {}};
  if (load.count < s_.p.lanes()) load.rows.when.push_back({tile_.lane_digit(1, s_.p.lanes()), load.count});
  return nested(std::move(load), inside);
}

Body MmaLowering::finish(const Affine& step, const Affine& ring_stage) {
  const StepPosition at = s_.indices.at_step(step);
  const tile::MatrixUnit& u = tile_.unit();
  Mma multiply{s_.block.instruction(tile_.instruction()), {s_.results.accumulators, tile_.first_result(1)}, {}, {}};
  Body body;
  for (std::size_t i = 0; i < s_.space().values; ++i) {
    const MatrixSide side = tile_.side(i);
    Access& factor = i == 0 ? multiply.a : multiply.b;
    if (held(i)) {
      factor = held_fragment(i);
      continue;
    }
    body.push_back(load_fragments(i, at, ring_stage));
    if (tile::is_converted(s_.p, i)) body.push_back(convert_fragments(i));
    factor = {registers_[i], tile_.number(tile_.axes_of(side), side.axis, 1) * elements_of(i)};
  }
  body.push_back(nest(tile_.all_loops(s_.results.axes, u.columns, 1), {{multiply, {}}}, true).front());
  if (held(0)) return in_unrolled_chunk_loops(std::move(body));
  return s_.in_chunk_loops(std::move(body), tile_.iterations());
}

}  // namespace tilescope::lower

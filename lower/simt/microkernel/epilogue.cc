// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/epilogue.h"

#include <algorithm>
#include <utility>

#include "arch/derive.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/row_reduction.h"

namespace tilescope::lower {

std::vector<std::size_t> EpilogueLowering::axes_of(const tile::Operand& o) const {
  const int beside = s_.neighbour_axis(s_.space().output);
  std::vector<std::size_t> out;
  for (std::size_t a = 0; a < s_.space().spatial; ++a)
    if (o.uses(static_cast<int>(a)) && static_cast<int>(a) != beside) out.push_back(a);
  if (beside >= 0 && o.uses(beside)) out.push_back(static_cast<std::size_t>(beside));
  return out;
}

void EpilogueLowering::add_registers() {
  for (std::size_t r = 0; r < s_.stage().reads.size(); ++r) {
    const tile::Operand& o = s_.space().inputs[s_.operand_of(r)];
    if (s_.held(r) != nullptr) {
      registers_.push_back(s_.held(r)->results->leaving);
      continue;
    }
    if (const std::size_t e = s_.first_equal(r); e < r) {
      registers_.push_back(registers_[e]);
      continue;
    }
    std::int64_t elements = 1;
    for (const std::size_t a : axes_of(o)) elements *= tile::results_of_thread(s_.p, a);
    const std::string tap = r == static_cast<std::size_t>(o.reads.front()) ? "" : std::to_string(r);
    registers_.push_back(s_.block.registers(o.name + tap + "_part", s_.tensor_of(o).dtype, elements));
  }
}

EpilogueLowering::Elements EpilogueLowering::elements_of(std::size_t r, std::int64_t vector) {
  const tile::Operand& o = s_.space().inputs[s_.operand_of(r)];
  Places places = places_along(axes_of(o), vector);
  Elements out{std::move(places.loops), std::move(places.place), {}};
  std::vector<Affine> local = s_.local_values(places.by_axis);
  add_lane(local);
  const std::vector<Affine> axes = s_.absolute_values(local, s_.indices.at_step(constant(0)));
  const KeptTile* tile = s_.kept(r);
  if (tile == nullptr) {
    out.from = s_.addresses.in_memory(o, s_.read(r), axes);
  } else {
    out.from = s_.addresses.in_kept_tile(o, s_.read(r), axes, tile->begin, tile->shape, tile->pitch);
    out.together =
        vector == 1 || s_.addresses.neighbours_in_kept_tile(o, s_.read(r), axes, tile->begin, tile->shape, vector);
  }
  return out;
}

Affine EpilogueLowering::place_of(std::size_t r) {
  const HeldTensor* held = s_.held(r);
  if (held != nullptr && !held->by_rows) return result_position(1);
  const tile::Operand& o = s_.space().inputs[s_.operand_of(r)];
  // Rows lie in the order of their own axes.
  return places_along(held != nullptr ? *tile::axes_of_reads(s_.space(), s_.tensor_of(o).name) : axes_of(o), 1).place;
}

std::int64_t EpilogueLowering::widest_read(std::size_t r) {
  const std::size_t i = s_.operand_of(r);
  const tile::Operand& o = s_.space().inputs[i];
  const KeptTile* kept = s_.kept(r);
  if (kept == nullptr) return s_.p.operands[i].vector;
  const int beside = o.contiguous_axis();
  if (beside < 0 || beside != s_.neighbour_axis(s_.space().output) || kept->pitch.back() != 1) return 1;
  const std::int64_t neighbours = tile::neighbouring_results_along(s_.p, static_cast<std::size_t>(beside));
  std::int64_t vector = 1;
  for (std::int64_t v = 2; v * o.element.n <= arch::widest_access_of(s_.chip).n && neighbours % v == 0; v *= 2) {
    const Elements read = elements_of(r, v);
    if (!read.together || alignment_of(read.from.offset, v) != v) break;
    vector = v;
  }
  return vector;
}

Statement EpilogueLowering::load(std::size_t r) {
  const std::size_t i = s_.operand_of(r);
  const std::int64_t vector = widest_read(r);
  Elements e = elements_of(r, vector);
  const KeptTile* kept = s_.kept(r);
  if (kept == nullptr) s_.check_aligned(s_.space().inputs[i].name, e.from, vector);
  const int from = kept == nullptr ? s_.memory[i] : kept->shared;
  Copy copy{{registers_[r], e.place}, {from, e.from.offset}, vector, {}, std::move(e.from.inside)};
  return noted(nest(e.loops, {{std::move(copy), {}}}, true).front(), "read " + s_.space().inputs[i].name);
}

Body EpilogueLowering::finish(const Affine& /*step*/, const Affine& /*ring_stage*/) {
  Body body;
  for (std::size_t r = 0; r < registers_.size(); ++r)
    if (s_.held(r) == nullptr && s_.first_equal(r) == r) body.push_back(load(r));
  Compute c{{s_.results.accumulators, result_position(1)}, expr::Reducer::kNone, s_.body(), {}, {}};
  for (std::size_t r = 0; r < registers_.size(); ++r) c.operands.push_back({registers_[r], place_of(r)});
  if (!s_.stage().indices.empty()) {
    std::vector<Affine> local = s_.local_values(result_loops(1));
    add_lane(local);
    c.indices = s_.indices_of_body(s_.absolute_values(local, s_.indices.at_step(constant(0))));
  }
  body.push_back(nest(joined(result_loops(1)), {{std::move(c), {}}}, true).front());
  return body;
}

}  // namespace tilescope::lower

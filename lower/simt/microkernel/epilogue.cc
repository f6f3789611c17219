// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/epilogue.h"

#include <algorithm>
#include <utility>

#include "arch/derive.h"
#include "tile/microkernel/epilogue.h"

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
      registers_.push_back(s_.held(r)->leaving);
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
  const std::vector<std::vector<AxisLoop>> results = result_loops(vector);
  Elements out;
  std::vector<std::vector<AxisLoop>> by_axis(results.size());
  for (const std::size_t a : axes_of(o)) {
    by_axis[a] = results[a];
    out.loops.insert(out.loops.end(), results[a].begin(), results[a].end());
    // The loops' own positions are those of results, of which the operand has those along its axes alone.
    Affine along;
    std::int64_t faster = static_cast<int>(a) == s_.neighbour_axis(s_.space().output) ? vector : 1;
    for (auto l = results[a].rbegin(); l != results[a].rend(); faster *= l->extent, ++l)
      along = along + s_.maker().value(l->index) * faster;
    out.place = out.place * tile::results_of_thread(s_.p, a) + along;
  }
  std::vector<Affine> local = s_.local_values(by_axis);
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
  for (std::size_t r = 0; r < registers_.size(); ++r)
    c.operands.push_back({registers_[r], s_.held(r) != nullptr ? result_position(1) : elements_of(r, 1).place});
  if (!s_.stage().indices.empty()) {
    std::vector<Affine> local = s_.local_values(result_loops(1));
    add_lane(local);
    c.indices = s_.indices_of_body(s_.absolute_values(local, s_.indices.at_step(constant(0))));
  }
  body.push_back(nest(joined(result_loops(1)), {{std::move(c), {}}}, true).front());
  return body;
}

}  // namespace tilescope::lower

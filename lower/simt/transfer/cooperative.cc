// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/cooperative.h"

#include <utility>

namespace tilescope::lower {

void CooperativeLowering::add_batches(std::int64_t most) {
  pieces_.cut(most);
  CachedTile t = s_.shape_of_tile(operand_);
  t.shared = s_.block.shared(operand().name + "_tile", s_.tensor_of(operand()).dtype,
                             t.ring_stage_elements * s_.stages_held(operand_),
                             s_.place.scratchpad + s_.staging.begins[operand_]);
  tile() = t;
  if (!operand().gathered) return;
  const tile::Operand& table = s_.space().inputs[operand().gathered->table];
  index_ = s_.block.registers(table.name + "_of_" + operand().name, s_.tensor_of(table).dtype, pieces_.in_batch());
}

Located CooperativeLowering::in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at, Affine& table) {
  const tile::Operand& o = operand();
  Located from = o.gathered ? s_.addresses.gathered_tile_element(o, at_in_tile, at.begin, table)
                            : s_.addresses.tile_element(o, s_.read(static_cast<std::size_t>(o.reads.front())),
                                                        at_in_tile, at.begin);
  if (!products_.reads_beyond_end()) return from;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    for (const expr::Term& t : o.dims[d].terms)
      if (const auto a = static_cast<std::size_t>(t.axis); a >= s_.space().spatial)
        s_.add_ends(a, at.begin[a] + at_in_tile[d], from.inside);
  return from;
}

CooperativeLowering::Load CooperativeLowering::load_of(const CooperativePieces::Piece& piece, const StepPosition& at,
                                                       Access to) {
  Affine in_table;
  Located from = in_memory(piece.at, at, in_table);
  s_.check_aligned(operand().name, from, plan().vector);
  Load load;
  load.copy = {std::move(to), {s_.memory[operand_], from.offset}, plan().vector, piece.when, from.inside};
  if (const auto& g = operand().gathered) {
    const Access index{index_, piece.in_batch}, table{s_.memory[g->table], in_table};
    load.index = Copy{index, table, 1, piece.when, from.inside};
    load.copy.gather = Gather{index, table, g->stride, g->extent};
  }
  return load;
}

Body CooperativeLowering::nested(Load load, const CooperativePieces::Piece& piece, const std::string& note) const {
  Body body;
  if (load.index)
    body.push_back(noted(nest(piece.loops, {{*std::move(load.index), {}}}, true).front(),
                         "load the indices of " + operand().name));
  body.push_back(noted(nest(piece.loops, {{std::move(load.copy), {}}}, true).front(), note));
  return body;
}

}  // namespace tilescope::lower

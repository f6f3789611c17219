// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/row_store.h"

#include "tile/transfer/results.h"

namespace tilescope::lower {

void RowStoreLowering::add_tile() {
  GatheredLowering::add_tile();
  pieces_.cut(pieces_.max_in_flight(tile::result_element(s_.p)));
  carried_ = s_.block.registers(s_.space().output.name + "_row", s_.block.dtype_of(s_.results.leaving),
                                pieces_.in_batch() * s_.p.operands[output_].vector);
}

Body RowStoreLowering::leave_tile() {
  const tile::Operand& output = s_.space().output;
  const std::int64_t vector = s_.p.operands[output_].vector;
  const StepPosition begin = s_.indices.at_step(constant(0));
  Body body;
  for (std::int64_t batch = 0; batch < pieces_.batches(); ++batch) {
    const CooperativePieces::Piece p = pieces_.piece(batch);
    Located to = s_.addresses.tile_element(output, tile::output_read(s_.stage()), p.at, begin.begin);
    if (s_.p.is_split()) to.offset = to.offset + s_.indices.part() * s_.tensor_of(output).elements();
    s_.check_aligned(output.name, to, vector);
    const Copy load{{carried_, p.in_batch * vector}, {tile().shared, in_tile(p.at)}, vector, p.when, {}};
    to.inside.insert(to.inside.begin(), p.when.begin(), p.when.end());
    const Copy store{{s_.memory.back(), to.offset}, {carried_, p.in_batch * vector}, vector, to.inside, {}};
    body.push_back(noted(nest(p.loops, {{load, {}}}, true).front(), "read rows of " + output.name));
    body.push_back(noted(nest(p.loops, {{store, {}}}, true).front(), "store " + output.name));
  }
  return body;
}

}  // namespace tilescope::lower

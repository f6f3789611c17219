// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/per_thread.h"

namespace tilescope::lower {

void PerThreadLowering::add_tile() {
  const std::int64_t vector = plan().vector;
  add_batches(pieces_.max_in_flight(operand().element));
  in_flight_ = s_.block.registers(operand().name + "_next", s_.tensor_of(operand()).dtype, pieces_.in_batch() * vector);
}

Statement PerThreadLowering::load_batch(std::int64_t batch, const StepPosition& at) {
  const CooperativePieces::Piece p = pieces_.piece(batch);
  const Located from = in_memory(p.at, at);
  s_.check_aligned(operand().name, from, plan().vector);
  Copy copy{{in_flight_, p.in_flight}, {s_.memory[operand_], from.offset}, plan().vector, p.when, from.inside};
  return noted(nest(p.loops, {{copy, {}}}, true).front(), "load " + operand().name);
}

Statement PerThreadLowering::keep_batch(std::int64_t batch, const Affine& ring_stage) {
  const CooperativePieces::Piece p = pieces_.piece(batch);
  Copy copy{{tile().shared, products_.in_ring_stage(operand_, p.at, ring_stage)},
            {in_flight_, p.in_flight},
            plan().vector,
            p.when,
            {}};
  return noted(nest(p.loops, {{copy, {}}}, true).front(), "keep " + operand().name);
}

Body PerThreadLowering::copy(const StepPosition& at, const Affine& ring_stage) {
  Body body;
  for (std::int64_t batch = 0; batch < pieces_.batches(); ++batch) {
    body.push_back(load_batch(batch, at));
    body.push_back(keep_batch(batch, ring_stage));
  }
  return body;
}

}  // namespace tilescope::lower

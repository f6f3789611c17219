// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/per_thread.h"

#include <utility>

namespace tilescope::lower {

void PerThreadLowering::add_tile() {
  const std::int64_t vector = plan().vector;
  add_batches(pieces_.max_in_flight(operand().element));
  in_flight_ = s_.block.registers(operand().name + "_next", s_.tensor_of(operand()).dtype, pieces_.in_batch() * vector);
}

Body PerThreadLowering::load_batch(std::int64_t batch, const StepPosition& at) {
  const CooperativePieces::Piece p = pieces_.piece(batch);
  return nested(load_of(p, at, {in_flight_, p.in_batch * plan().vector}), p, "load " + operand().name);
}

Statement PerThreadLowering::keep_batch(std::int64_t batch, const Affine& ring_stage) {
  const CooperativePieces::Piece p = pieces_.piece(batch);
  Copy copy{{tile().shared, products_.in_ring_stage(operand_, p.at, ring_stage)},
            {in_flight_, p.in_batch * plan().vector},
            plan().vector,
            p.when,
            {}};
  return noted(nest(p.loops, {{copy, {}}}, true).front(), "keep " + operand().name);
}

Body PerThreadLowering::copy(const StepPosition& at, const Affine& ring_stage) {
  Body body;
  for (std::int64_t batch = 0; batch < pieces_.batches(); ++batch) {
    body = with(std::move(body), load_batch(batch, at));
    body.push_back(keep_batch(batch, ring_stage));
  }
  return body;
}

}  // namespace tilescope::lower

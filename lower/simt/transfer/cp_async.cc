// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/cp_async.h"

namespace tilescope::lower {

void CpAsyncLowering::add_tile() { add_batches(pieces_.of_thread()); }

Body CpAsyncLowering::start(const StepPosition& at, const Affine& ring_stage) {
  const CooperativePieces::Piece p = pieces_.piece(0);
  const Located from = in_memory(p.at, at);
  const std::int64_t vector = plan().vector;
  s_.check_aligned(operand().name, from, vector);
  Copy copy{{tile().shared, products_.in_ring_stage(operand_, p.at, ring_stage)},
            {s_.memory[operand_], from.offset},
            vector,
            p.when,
            from.inside,
            true};
  Body body = nest(p.loops, {{copy, {}}}, true);
  body.front().note = "copy " + operand().name;
  return body;
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/cp_async.h"

#include <utility>

namespace tilescope::lower {

// Indices pass through registers, all of a batch at a time.
void CpAsyncLowering::add_tile() {
  add_batches(operand().gathered ? pieces_.max_in_flight(operand().element) : pieces_.of_thread());
}

Body CpAsyncLowering::start(const StepPosition& at, const Affine& ring_stage) {
  Body body;
  for (std::int64_t batch = 0; batch < pieces_.batches(); ++batch) {
    const CooperativePieces::Piece p = pieces_.piece(batch);
    Load load = load_of(p, at, {tile().shared, products_.in_ring_stage(operand_, p.at, ring_stage)});
    load.copy.asynchronous = true;
    body = with(std::move(body), nested(std::move(load), p, "copy " + operand().name));
  }
  return body;
}

}  // namespace tilescope::lower

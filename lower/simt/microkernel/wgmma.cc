// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/wgmma.h"

#include <utility>

#include "lower/simt/microkernel/detail/core_operands.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::lower {

Affine WgmmaLowering::in_ring_stage(std::size_t i, const std::vector<Affine>& at, const Affine& ring_stage) {
  return in_core_matrices(s_, i, at, ring_stage);
}

SharedOperand WgmmaLowering::factor(std::size_t i, std::int64_t together, const StepPosition& at,
                                    const Affine& ring_stage) {
  const MatrixSide side = tile_.side(i);
  return core_operand(s_, i, side, in_ring_stage(i, tile_.in_data_tile(side, together, {}, at), ring_stage));
}

void WgmmaLowering::add_registers() {
  s_.block.instruction(tile_.instruction());
  if (s_.space().scale_depth == 0) return;
  promotion_.emplace(s_, tile_);
  promotion_->add_registers();
}

// A group's fragments that lie side by side along the columns are one instruction's.
Body WgmmaLowering::start(const Affine& step, const Affine& ring_stage) {
  const StepPosition at = s_.indices.at_step(step);
  const tile::MatrixUnit& u = tile_.unit();
  const std::int64_t together = tile::fragments_together(s_.p);
  Wgmma m{s_.block.instruction(tile_.instruction()), u.n * together, {sums(), tile_.first_result(together)}, {}, {}};
  if (held(0))
    m.a_fragment = held_fragment(0);
  else
    m.a = factor(0, 1, at, ring_stage);
  m.b = factor(1, together, at, ring_stage);
  // The sums of a step with scales begin with the first of its products.
  if (promotion_) m.adds.push_back({s_.indices.along(u.depth, {}) - constant(1), s_.p.block[u.depth]});
  Body body;
  body.push_back({WgmmaFence{sums()}, {}});
  Body products = nest(tile_.all_loops(s_.results.axes, u.columns, together), {{m, {}}}, true);
  body = with(std::move(body), held(0) ? in_unrolled_chunk_loops(std::move(products))
                                       : s_.in_chunk_loops(std::move(products), tile_.iterations()));
  return promotion_ ? with(std::move(body), promotion_->load(at)) : body;
}

Body WgmmaLowering::finish(const Affine& /*step*/, const Affine& /*ring_stage*/) {
  Body body;
  body.push_back({WgmmaCommitWait{sums()}, {}});
  return promotion_ ? with(std::move(body), promotion_->add()) : body;
}

Body WgmmaLowering::before_reads() const {
  Body body;
  body.push_back({ProxyFence{}, {}});
  return body;
}

}  // namespace tilescope::lower

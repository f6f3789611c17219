// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/wgmma.h"

#include <utility>

#include "tile/microkernel/wgmma.h"

namespace tilescope::lower {

Affine WgmmaLowering::in_ring_stage(std::size_t i, const std::vector<Affine>& at, const Affine& ring_stage) {
  const CachedTile& t = s_.tiles[i];
  const tile::CoreMatrices core = tile::core_matrices(s_.p, i);
  const std::string& name = s_.space().inputs[i].name;
  Affine offset = s_.p.operands[i].once ? Affine() : ring_stage * t.ring_stage_elements;
  for (std::size_t d = 0; d + 2 < at.size(); ++d) offset = offset + at[d] * t.pitch[d];
  const auto part = [&](const Affine& a, std::int64_t of, const char* what) {
    const Affine whole = s_.maker().quotient(a, of, 0, name + what);
    return std::pair{whole, a - whole * of};
  };
  const auto [below, row] = part(at[at.size() - 2], tile::kCoreRows, "_below");
  const auto [beside, column] = part(at.back(), core.columns, "_beside");
  return offset + below * core.below + row * core.columns + beside * core.beside + column;
}

SharedOperand WgmmaLowering::factor(std::size_t i, std::int64_t together, const StepPosition& at,
                                    const Affine& ring_stage) {
  const MatrixSide side = tile_.side(i);
  const tile::CoreMatrices core = tile::core_matrices(s_.p, i);
  const Affine from = in_ring_stage(i, tile_.in_data_tile(side, together, {}, at), ring_stage);
  SharedOperand out{{s_.tiles[i].shared, from}, core.below, core.beside, false};
  const auto& dims = s_.space().inputs[i].dims;
  if (static_cast<std::size_t>(dims.back().terms[0].axis) != side.axis) return out;
  std::swap(out.along, out.deep);
  out.transposed = true;
  return out;
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

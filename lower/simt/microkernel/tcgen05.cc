// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/tcgen05.h"

#include <utility>

#include "tile/microkernel/tcgen05.h"

namespace tilescope::lower {

void Tcgen05Lowering::add_registers() {
  s_.block.instruction(tile_.instruction());
  Kernel& k = s_.block.kernel();
  const Buffer& results = k.buffers[static_cast<std::size_t>(s_.results.accumulators)];
  sums_ = s_.block.tensor(s_.space().output.name + "_sums", results.dtype, tile::sum_columns(s_.p),
                          tensor_columns(k) * kColumnBytes);
  if (s_.place.live.first) s_.block.refuse("sums in tensor memory begin with a block's first step, which differs");
  if (k.mbarriers.empty()) return;  // the program has no TMA loads, and is refused
  const Mbarrier& last = k.mbarriers.back();
  over_ = static_cast<int>(k.mbarriers.size());
  k.mbarriers.push_back({"sums", 1, 1, last.offset_bytes + last.stages * s_.chip.core.tma->mbarrier.n});
}

Tcgen05Lowering::BlockTile Tcgen05Lowering::block_tile() {
  const tile::MatrixUnit& u = tile_.unit();
  BlockTile out{{}, std::vector<Affine>(s_.space().axes.size(), constant(0))};
  for (std::size_t a = 0; a < s_.space().spatial; ++a) {
    const std::int64_t each = a == u.rows ? u.m : a == u.columns ? tile::columns_together(s_.p) : 1;
    const std::int64_t extent = s_.p.block[a] / each;
    if (extent == 1) continue;
    const int loop = tile_.loop(s_.space().axes[a].name + "_issued", extent);
    out.loops.push_back({loop, extent, each, 1});
    out.begin[a] = s_.maker().value(loop) * each;
  }
  for (std::size_t a = s_.space().spatial; a < s_.space().axes.size(); ++a) out.begin[a] = s_.indices.along(a, {});
  return out;
}

Affine Tcgen05Lowering::column(const std::vector<Affine>& at) const {
  const tile::MatrixUnit& u = tile_.unit();
  Affine fragment;
  for (std::size_t a = 0; a < s_.space().spatial; ++a) {
    if (a == u.columns) continue;
    const std::int64_t each = a == u.rows ? u.m : 1;
    fragment = fragment * (s_.p.block[a] / each) + (a == u.rows ? s_.maker().quotient(at[a], each, 0, "lanes") : at[a]);
  }
  return fragment * s_.p.block[u.columns] + at[u.columns];
}

SharedOperand Tcgen05Lowering::factor(std::size_t i, const BlockTile& tile, const StepPosition& at,
                                      const Affine& ring_stage) {
  const tile::Operand& o = s_.space().inputs[i];
  const auto r = static_cast<std::size_t>(o.reads.front());
  const std::vector<Affine> place =
      s_.addresses.in_tile(o, s_.read(r), tile.begin, s_.absolute_values(tile.begin, at)).at;
  return core_operand(s_, i, tile_.side(i), in_ring_stage(i, place, ring_stage));
}

// Sums begin with the first product of the first step.
Body Tcgen05Lowering::start(const Affine& step, const Affine& ring_stage) {
  const StepPosition at = s_.indices.at_step(step);
  const BlockTile tile = block_tile();
  Tcgen05Mma m{
      s_.block.instruction(tile_.instruction()), tile::columns_together(s_.p), {sums_, column(tile.begin)}, {}, {}};
  m.a = factor(0, tile, at, ring_stage);
  m.b = factor(1, tile, at, ring_stage);
  Affine before = step;
  for (const AxisLoop& l : s_.indices.chunk_loops()) before = before + s_.maker().value(l.index);
  m.adds.push_back({before - constant(1), s_.maker().range(before).high + 1});
  return nest(s_.indices.chunk_loops(), nest(tile.loops, {{std::move(m), {}}}, true), true);
}

Body Tcgen05Lowering::release(int mbarrier, const Affine& step, bool cluster) {
  Body body;
  body.push_back({Tcgen05Commit{mbarrier, step, cluster}, "the products have read them"});
  return body;
}

Body Tcgen05Lowering::commit() {
  Body body;
  body.push_back({Tcgen05Commit{over_, constant(0), false}, "all products have ended"});
  return body;
}

Body Tcgen05Lowering::collect() {
  const tile::MatrixUnit& u = tile_.unit();
  const std::int64_t together = tile::columns_read_together(s_.p) / u.n;
  std::vector<std::vector<AxisLoop>> by_axis(s_.space().axes.size());
  for (const std::size_t a : s_.results.axes) by_axis[a] = tile_.loops(a, a == u.columns ? together : 1);
  Tcgen05Load load{{s_.results.accumulators, tile_.first_result(together)},
                   {sums_, column(s_.local_values(by_axis))},
                   together * u.n};
  Body body;
  body.push_back({MbarrierWait{over_, constant(0)}, "the sums are whole"});
  return with(std::move(body),
              nest(tile_.all_loops(s_.results.axes, u.columns, together), {{std::move(load), {}}}, true));
}

}  // namespace tilescope::lower

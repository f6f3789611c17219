// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/lowering.h"

#include "lower/simt/microkernel/detail/epilogue.h"
#include "lower/simt/microkernel/detail/fma.h"
#include "lower/simt/microkernel/detail/mma.h"
#include "lower/simt/microkernel/detail/row_reduction.h"
#include "lower/simt/microkernel/detail/tcgen05.h"
#include "lower/simt/microkernel/detail/wgmma.h"
#include "tile/microkernel/epilogue.h"

namespace tilescope::lower {

Body MicroKernelLowering::start(const Affine& /*step*/, const Affine& /*ring_stage*/) { return {}; }

Body MicroKernelLowering::release(int mbarrier, const Affine& step, bool cluster) {
  Body body;
  body.push_back({MbarrierArrive{mbarrier, step, 0, cluster}, "this warp has read them"});
  return body;
}

std::int64_t MicroKernelLowering::releases() const { return s_.p.threads() / s_.chip.core.warp; }

Affine MicroKernelLowering::in_ring_stage(std::size_t i, const std::vector<Affine>& at, const Affine& ring_stage) {
  const CachedTile& t = s_.tiles[i];
  Affine offset = s_.p.operands[i].once ? Affine() : ring_stage * t.ring_stage_elements;
  Affine row;  // in the tile's own order
  for (std::size_t d = 0; d + 1 < at.size(); ++d) {
    offset = offset + at[d] * t.pitch[d];
    row = row * t.shape[d] + at[d];
  }
  if (at.empty()) return offset;
  const std::int64_t rotate = s_.p.operands[i].rotate;
  if (rotate == 0) return offset + at.back();
  const std::string& name = s_.space().inputs[i].name;
  return offset + s_.maker().quotient(at.back() + row * rotate, 1, t.shape.back(), name + "_place");
}

std::vector<std::vector<AxisLoop>> MicroKernelLowering::result_loops(std::int64_t vector) {
  std::vector<std::vector<AxisLoop>> loops(s_.space().axes.size());
  const int neighbours = s_.neighbour_axis(s_.space().output);
  for (const std::size_t a : s_.results.axes)
    loops[a] = s_.indices.thread_loops(a, static_cast<int>(a) == neighbours ? vector : 1);
  return loops;
}

Affine MicroKernelLowering::result_position(std::int64_t vector) {
  const std::vector<std::vector<AxisLoop>> loops = result_loops(vector);
  Affine out;
  for (const std::size_t a : s_.results.axes)
    out = out * s_.p.mapping[a].thread_extent() + s_.indices.position(loops[a]);
  return out;
}

void MicroKernelLowering::add_lane(std::vector<Affine>& /*local*/) {}

// The loops' own positions are those among all results.
MicroKernelLowering::Places MicroKernelLowering::places_along(const std::vector<std::size_t>& axes,
                                                              std::int64_t vector) {
  const std::vector<std::vector<AxisLoop>> results = result_loops(vector);
  Places out;
  out.by_axis.resize(results.size());
  for (const std::size_t a : axes) {
    out.by_axis[a] = results[a];
    out.loops.insert(out.loops.end(), results[a].begin(), results[a].end());
    Affine along;
    std::int64_t faster = static_cast<int>(a) == s_.neighbour_axis(s_.space().output) ? vector : 1;
    for (auto l = results[a].rbegin(); l != results[a].rend(); faster *= l->extent, ++l)
      along = along + s_.maker().value(l->index) * faster;
    out.place = out.place * tile::results_of_thread(s_.p, a) + along;
  }
  return out;
}

namespace {

std::unique_ptr<MicroKernelLowering> made(const tile::Fma&, Stage& s) { return std::make_unique<FmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Mma&, Stage& s) { return std::make_unique<MmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Wgmma&, Stage& s) { return std::make_unique<WgmmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Tcgen05&, Stage& s) {
  return std::make_unique<Tcgen05Lowering>(s);
}
std::unique_ptr<MicroKernelLowering> made(const tile::Epilogue& kernel, Stage& s) {
  return std::make_unique<EpilogueLowering>(
      s, std::visit([&](const auto& holder) { return made(holder, s); }, kernel.holder));
}

std::unique_ptr<MicroKernelLowering> made(const tile::RowReduction&, Stage& s) {
  return std::make_unique<RowReductionLowering>(s);
}

}  // namespace

std::unique_ptr<MicroKernelLowering> lowering_of_micro_kernel(Stage& stage) {
  return std::visit([&](const auto& entry) { return made(entry, stage); }, stage.p.micro_kernel);
}

}  // namespace tilescope::lower

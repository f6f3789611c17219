// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/lowering.h"

#include "lower/simt/microkernel/detail/epilogue.h"
#include "lower/simt/microkernel/detail/fma.h"
#include "lower/simt/microkernel/detail/mma.h"
#include "lower/simt/microkernel/detail/wgmma.h"

namespace tilescope::lower {

Body MicroKernelLowering::start(const Affine& /*step*/, const Affine& /*ring_stage*/) { return {}; }

Affine MicroKernelLowering::in_ring_stage(std::size_t i, const std::vector<Affine>& at, const Affine& ring_stage) {
  const CachedTile& t = s_.tiles[i];
  Affine offset = ring_stage * t.ring_stage_elements;
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

namespace {

std::unique_ptr<MicroKernelLowering> made(const tile::Fma&, Stage& s) { return std::make_unique<FmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Mma&, Stage& s) { return std::make_unique<MmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Wgmma&, Stage& s) { return std::make_unique<WgmmaLowering>(s); }
std::unique_ptr<MicroKernelLowering> made(const tile::Epilogue& kernel, Stage& s) {
  return std::make_unique<EpilogueLowering>(
      s, std::visit([&](const auto& holder) { return made(holder, s); }, kernel.holder));
}

}  // namespace

std::unique_ptr<MicroKernelLowering> lowering_of_micro_kernel(Stage& stage) {
  return std::visit([&](const auto& entry) { return made(entry, stage); }, stage.p.micro_kernel);
}

}  // namespace tilescope::lower

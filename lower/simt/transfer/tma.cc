// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/tma.h"

#include <utility>

#include <fmt/format.h>

#include "base/integer.h"
#include "tile/transfer/multicast.h"
#include "tile/transfer/tma.h"

namespace tilescope::lower {
namespace {

// Adds the mbarriers of a block, behind the tiles, and the warp that asks for them.
void add_mbarriers(Stage& s, const MicroKernelLowering& products) {
  Kernel& k = s.block.kernel();
  k.threads = s.p.threads_with_producers(s.chip.core.warp);
  s.mbarriers = static_cast<int>(k.mbarriers.size());
  const std::int64_t begin = (s.place.scratchpad + s.staging.mbarriers).n, stages = s.p.stages_held();
  const std::int64_t computing = s.p.threads() / s.chip.core.warp, releases = products.releases();
  const std::int64_t bytes = s.chip.core.tma->mbarrier.n * stages;
  // The tiles that a block brings lie in the scratchpads of its cluster, whose warps all read them.
  const std::string of = s.p.loop_stages > 1 ? s.space().output.name + "_" : "";
  k.mbarriers.push_back({of + "full", stages, 1, begin});
  k.mbarriers.push_back({of + "empty", stages, releases * k.cluster, begin + bytes});
  if (s.p.operands.back().cached) k.mbarriers.push_back({"met", s.p.tile_loop.crews, computing, begin + 2 * bytes});
  if (loaded_bytes(s, true) > 0) k.mbarriers.push_back({of + "once", 1, 1, begin + 2 * bytes});
}

}  // namespace

std::int64_t loaded_bytes(const Stage& s, bool once) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < s.space().inputs.size(); ++i)
    if (s.p.operands[i].box != 0 && s.p.operands[i].once == once)
      bytes += s.shape_of_tile(i).ring_stage_elements * s.space().inputs[i].element.n;
  return bytes;
}

void TmaLowering::add_tile() {
  CachedTile t = s_.shape_of_tile(operand_);
  t.shared = s_.block.shared(operand().name + "_tile", s_.tensor_of(operand()).dtype,
                             t.ring_stage_elements * s_.stages_held(operand_),
                             s_.place.scratchpad + s_.staging.begins[operand_], operand().element * plan().box);
  tile() = t;
  if (s_.mbarriers < 0) add_mbarriers(s_, products_);
}

TileBoxes boxes_of_tile(Stage& s, std::size_t operand, const Affine& first, const std::vector<Affine>& begin) {
  const tile::Operand& o = s.space().operand(operand);
  const CachedTile& t = s.tiles[operand];
  const std::int64_t row = s.p.operands[operand].box;
  const std::size_t last = o.dims.size() - 1;
  TileBoxes out{{{t.shared, first}, s.memory[operand], {}}, {}};
  for (std::size_t d = 0; d <= last; ++d) {
    BoxDim dim;
    dim.extent = o.dims[d].extent;
    dim.box = d == last ? row : d + 1 == last ? t.shape[d] : 1;
    // The stride of a dimension of one element is never used, but has to be whole pieces.
    dim.stride = dim.extent > 1 || d == last
                     ? o.steps[d].front().stride
                     : base::round_up(o.dims[last].extent, s.chip.core.tma->granule.n / o.element.n);
    dim.at = begin[static_cast<std::size_t>(o.dims[d].terms[0].axis)];
    if (const std::int64_t boxes = t.shape[d] / dim.box; boxes > 1) {
      const int loop = s.maker().loop(o.name + (d == last ? "_panel" : "_box"), boxes);
      out.loops.push_back({loop, boxes, dim.box, 1});
      dim.at = dim.at + s.maker().value(loop) * dim.box;
      const std::int64_t apart = d == last ? tile::box_elements(s.p, operand) : t.pitch[d];
      out.box.shared.offset = out.box.shared.offset + s.maker().value(loop) * apart;
    }
    out.box.dims.push_back(std::move(dim));
  }
  return out;
}

// Of every box the rows that are the block's in its cluster.
void TmaLowering::take_own_rows(TmaBox& box, std::int64_t blocks) {
  BoxDim& rows = box.dims[box.dims.size() - 2];
  rows.box /= blocks;
  const Affine first = s_.maker().quotient(s_.maker().block(), 1, blocks, "rank") * rows.box;
  rows.at = rows.at + first;
  box.shared.offset = box.shared.offset + first * box.dims.back().box;
}

Body TmaLowering::start(const StepPosition& at, const Affine& ring_stage) {
  TileBoxes of = boxes_of_tile(s_, operand_, ring_stage * tile().ring_stage_elements, at.begin);
  const std::int64_t blocks = tile::sharing_blocks(s_.p, operand_);
  if (blocks > 1) take_own_rows(of.box, blocks);
  const int mbarrier = s_.mbarriers + (plan().once ? kOnce : kFull);
  Body body = nest(of.loops, {{TmaLoad{std::move(of.box), mbarrier, at.step, blocks > 1}, {}}}, true);
  body.front().note = fmt::format("bring {}{}", operand().name, blocks > 1 ? " to all blocks of the cluster" : "");
  return body;
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/tma.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/integer.h"
#include "tile/loop_ring.h"
#include "tile/microkernel/rules.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::tile {
namespace {

// Whether an instruction's operand is whole boxes where rows run along m or n, and part of one where they run along k.
bool fragments_fit(const StageProgram& p, std::size_t i, std::int64_t box) {
  const MatrixUnit& u = *p.matrix();
  const auto inner = static_cast<std::size_t>(p.space->inputs[i].dims.back().terms[0].axis);
  if (inner == u.depth) return box % u.k == 0;
  return (i == 0 ? u.m : u.n * fragments_together(p)) % box == 0;
}

bool row_fits(const StageProgram& p, std::size_t i, std::int64_t box, const arch::TmaSpec& tma) {
  // Rows are swizzled in spans of the longest one, its half, and so on; core matrices have pieces for so long ones.
  bool known = false;
  for (std::int64_t row = tma.row.n; row >= shortest_row(tma).n; row /= 2)
    known = known || (box * p.space->inputs[i].element.n == row && row <= kCoreRows * kCoreRowBytes);
  return known && box <= tma.max_extent && data_tile(p.space->inputs[i], p.block).back() % box == 0 &&
         fragments_fit(p, i, box);
}

}  // namespace

std::int64_t swizzled(std::int64_t byte, std::int64_t row) {
  if (row == 0) return byte;
  const std::int64_t line = byte / (kCoreRows * kCoreRowBytes);
  return byte ^ line % (row / kCoreRowBytes) * kCoreRowBytes;
}

bool SimtSchedule::by_tma() const {
  return std::any_of(operands.begin(), operands.end() - 1, [](const OperandPlan& o) { return o.box != 0; });
}

std::int64_t SimtSchedule::threads_with_producers(std::int64_t warp) const {
  if (!by_tma()) return threads();
  const bool issued = std::visit([](const auto& kernel) { return issued_for_block(kernel); }, micro_kernel);
  return base::round_up(threads() * tile_loop.crews, warp) + (issued ? 2 : 1) * warp;
}

std::string tensor_refusal(const StageProgram& p, std::size_t i, const arch::TmaSpec& tma) {
  const Operand& o = p.space->operand(i);
  const TileShape shape = data_tile(o, p.block);
  if (o.im2col) return "it is gathered";
  if (o.gathered) return "a table gives a coordinate of it";
  if (o.dims.size() < 2) return "it has no rows";
  const auto dims = static_cast<std::int64_t>(o.dims.size());
  if (dims > tma.max_dims) return fmt::format("{} dimensions are more than the {} of a box", dims, tma.max_dims);
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    const TileDim& dim = o.dims[d];
    const bool single = !dim.whole && dim.terms.size() == 1 && dim.terms[0].coefficient == 1 && dim.low == 0 &&
                        dim.spread == 0 && o.steps[d].size() == 1;
    if (!single) return "a dimension of its data tile is no single loop over one of the tensor";
    const auto axis = static_cast<std::size_t>(dim.terms[0].axis);
    // Boxes are filled with zeros beyond the tensor's ends, and nowhere else.
    const bool reduced = axis >= p.space->spatial;
    if (reduced && dim.extent != p.space->axes[axis].extent)
      return fmt::format("it goes on beyond the end of {}", p.space->axes[axis].name);
    if (reduced && p.split[axis] > 1 && base::ceil_div(p.space->axes[axis].extent, p.split[axis]) % p.block[axis] != 0)
      return fmt::format("a part of the split {} ends within a step", p.space->axes[axis].name);
    const std::int64_t stride = o.steps[d].front().stride * o.element.n;
    if (dim.extent > kMaxBoxCoordinate - p.block[axis] || (tma.max_stride && stride > tma.max_stride->n))
      return "it is too large for a box's coordinates";
    if (d + 1 < o.dims.size() && dim.extent > 1 && stride % tma.granule.n != 0)
      return fmt::format("its rows are {} B apart, no multiple of {} B", stride, tma.granule.n);
  }
  if (o.steps.back().front().stride != 1) return "its innermost elements are not side by side";
  if (shape[shape.size() - 2] > tma.max_extent)
    return fmt::format("{} rows are more than the {} of a box", shape[shape.size() - 2], tma.max_extent);
  return {};
}

std::int64_t box_elements(const StageProgram& p, std::size_t i) {
  const TileShape shape = data_tile(p.space->operand(i), p.block);
  return shape[shape.size() - 2] * p.operands[i].box;
}

TmaStaging tma_staging(const StageProgram& p, const arch::CoreSpec& core) {
  if (!p.by_tma() || !core.tma) return {};
  // Full and empty of every stage; one for each crew at which its warps meet around their results in the scratchpad;
  // one of the tiles that are loaded once; one of sums in tensor memory.
  const bool once = std::any_of(p.operands.begin(), p.operands.end(), [](const OperandPlan& o) { return o.once; });
  const bool sums = of_micro_kernel(p, [](const auto& kernel) { return issued_for_block(kernel); });
  const std::int64_t more = (p.operands.back().cached ? p.tile_loop.crews : 0) + (once ? 1 : 0) + (sums ? 1 : 0);
  return {core.tma->alignment, core.tma->mbarrier, 2 * p.stages_held() + more};
}

std::string tma_refusal(const StageProgram& p, const arch::ArchSpec& a) {
  if (!p.by_tma()) return {};
  if (!a.core.tma) return fmt::format("{} has no TMA engine (core.tma)", a.name);
  if (!in_core_matrices(p)) return "no instruction reads its operands from the scratchpad";
  if (const std::string why = core_matrices_refusal(p); !why.empty()) return why;
  for (std::size_t i = 0; i < p.space->values; ++i) {
    const std::string& name = p.space->inputs[i].name;
    if (i == 0 && !p.operands[i].cached) continue;  // registers have it
    if (!p.operands[i].cached || p.operands[i].box == 0) return fmt::format("{} is not copied by TMA", name);
    if (const std::string why = tensor_refusal(p, i, *a.core.tma); !why.empty())
      return fmt::format("{}: {}", name, why);
    if (!row_fits(p, i, p.operands[i].box, *a.core.tma))
      return fmt::format("{}: rows of {} elements are not those of a box", name, p.operands[i].box);
  }
  return {};
}

std::optional<StageProgram> with_tma_loads(StageProgram p, const arch::ArchSpec& a) {
  if (!a.core.tma || !in_core_matrices(p)) return std::nullopt;
  const arch::TmaSpec& tma = *a.core.tma;
  for (std::size_t i = 0; i < p.space->values; ++i) {
    if (i == 0 && !p.operands[i].cached) continue;  // registers have it
    if (!p.operands[i].cached || !tensor_refusal(p, i, tma).empty()) return std::nullopt;
    OperandPlan& plan = p.operands[i];
    plan = {.cached = true};  // no thread copies pieces, and so none is wider than an element
    for (std::int64_t bytes = tma.row.n; plan.box == 0 && bytes >= shortest_row(tma).n; bytes /= 2)
      if (const std::int64_t box = bytes / p.space->inputs[i].element.n; box > 0 && row_fits(p, i, box, tma))
        plan.box = box;
    if (plan.box == 0) return std::nullopt;
  }
  if (!core_matrices_refusal(p).empty()) return std::nullopt;
  return p;
}

std::string tma_ring_refusal(const RProgram& p, const GroupLayout& group, std::size_t place) {
  const auto program = [&](const GroupedStage& s) -> const StageProgram& { return p.simt()[s.stage]; };
  if (group.stages.size() == 1 || std::none_of(group.stages.begin(), group.stages.end(),
                                               [&](const GroupedStage& s) { return program(s).by_tma(); }))
    return {};
  const StageProgram& stage = program(group.stages[place]);
  const std::string& name = stage.space->output.name;
  const bool caches = std::any_of(stage.operands.begin(), stage.operands.end() - 1,
                                  [](const OperandPlan& plan) { return plan.cached; });
  if (caches && !stage.by_tma())
    return fmt::format("loop_stages: TMA loads tiles of the loop, and threads copy those of {}", name);
  if (group.stages[place].keeps_output || stage.operands.back().cached)
    return fmt::format("loop_stages: TMA loads tiles of the loop, and {} passes through the scratchpad", name);
  if (stage.by_tma() && stage.threads() != group.threads)
    return fmt::format("loop_stages: {} of {} threads use the tiles of {} that TMA loads", stage.threads(),
                       group.threads, name);
  return {};
}

}  // namespace tilescope::tile

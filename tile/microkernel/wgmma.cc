// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/wgmma.h"

#include <fmt/format.h>

#include "base/integer.h"
#include "tile/microkernel/rules.h"

namespace tilescope::tile {
namespace {

// The tile axis along which a dimension lies, counted from the innermost one; nothing of one that is no single loop.
std::optional<std::size_t> axis_from_back(const Operand& o, std::size_t from_back) {
  if (o.dims.size() <= from_back) return std::nullopt;
  const TileDim& d = o.dims[o.dims.size() - 1 - from_back];
  if (d.whole || d.terms.size() != 1) return std::nullopt;
  return static_cast<std::size_t>(d.terms[0].axis);
}

std::int64_t columns_of(const Operand& o) { return kCoreRowBytes / o.element.n; }

std::string refusal_of(const StageProgram& p, std::size_t i) {
  const Operand& o = p.space->inputs[i];
  const OperandPlan& plan = p.operands[i];
  const TileShape shape = data_tile(o, p.block);
  const std::int64_t row = shape.back(), rows = shape[shape.size() - 2];
  if (rows % kCoreRows != 0 || row % columns_of(o) != 0)
    return fmt::format("operand {}: its cached tile of {} rows of {} elements is not cut into core matrices of {}x{}",
                       o.name, rows, row, kCoreRows, columns_of(o));
  if (plan.box != 0 && (plan.padding != 0 || row % plan.box != 0))
    return fmt::format("operand {}: its cached rows of {} elements and {} of padding are not cut into boxes of {}",
                       o.name, row, plan.padding, plan.box);
  if (plan.rotate != 0) return fmt::format("operand {}: core matrices are not rotated", o.name);
  if (kCoreRows * plan.padding % row != 0)
    return fmt::format("operand {}: a padding of {} elements does not put core matrices multiples of {} B apart",
                       o.name, plan.padding, kCoreRowBytes);
  return {};
}

}  // namespace

CoreMatrices core_matrices(const StageProgram& p, std::size_t i) {
  const Operand& o = p.space->inputs[i];
  const TileShape shape = data_tile(o, p.block);
  if (const std::int64_t box = p.operands[i].box; box != 0)
    return {box, shape[shape.size() - 2] * box, kCoreRows * box};
  const std::int64_t row = shape.back(), columns = columns_of(o);
  const std::int64_t below = kCoreRows * (row + p.operands[i].padding);
  return {columns, below * columns / row, below};
}

std::int64_t core_padding(const StageProgram& p, std::size_t i) {
  return data_tile(p.space->inputs[i], p.block).back() / kCoreRows;
}

bool reads_core_matrices(const TileSpace& space, const MatrixUnit& u) {
  for (std::size_t i = 0; i < space.values; ++i) {
    const Operand& o = space.inputs[i];
    const std::size_t side = i == 0 ? u.rows : u.columns;
    const auto inner = axis_from_back(o, 0), outer = axis_from_back(o, 1);
    const bool along_depth = inner == u.depth && outer == side;
    const bool transposes = u.spec && u.spec->load && u.spec->load->transpose == o.element;
    const bool transposed = transposes && inner == side && outer == u.depth;
    if (!along_depth && !transposed) return false;
  }
  return true;
}

bool in_core_matrices(const StageProgram& p) {
  return std::holds_alternative<Wgmma>(p.micro_kernel) || std::holds_alternative<Tcgen05>(p.micro_kernel);
}

std::string core_matrices_refusal(const StageProgram& p) {
  if (!reads_core_matrices(*p.space, *p.matrix()))
    return "the factors' innermost dimensions are not the rows or columns and the depth of core matrices";
  for (std::size_t i = 0; i < p.space->values; ++i) {
    if (i == 0 && !p.operands[i].cached) continue;  // registers have it (row_reduction.h)
    if (std::string why = refusal_of(p, i); !why.empty()) return why;
  }
  return scales_refusal(p);
}

bool scales_fit(const TileSpace& space, const Extents& thread) {
  for (std::size_t i = space.values; i < space.values + space.scales(); ++i)
    for (const TileDim& d : space.inputs[i].dims) {
      if (d.shared_by == 1) continue;
      const auto axis = static_cast<std::size_t>(d.terms[0].axis);
      if (axis < space.spatial && d.shared_by % thread[axis] != 0) return false;
    }
  return true;
}

std::string scales_refusal(const StageProgram& p) {
  const std::int64_t depth = p.space->scale_depth;
  if (depth == 0) return {};
  const MatrixUnit& u = *p.matrix();
  const std::string& axis = p.space->axes[u.depth].name;
  if (p.block[u.depth] != depth || depth % u.k != 0)
    return fmt::format("{} iterations along {} share their scales, and a step has {}, in fragments of {}", depth, axis,
                       p.block[u.depth], u.k);
  if (p.split[u.depth] > 1 && base::ceil_div(p.space->axes[u.depth].extent, p.split[u.depth]) % depth != 0)
    return fmt::format("{} iterations along {} share their scales, of which parts of the reduction have no multiple",
                       depth, axis);
  for (const AxisMapping& m : p.mapping)
    if (m.vthread > 1) return "a thread's results share no scales where vthreads stride apart";
  return scales_fit(*p.space, p.thread) ? "" : "a thread's results lie under several scales along one axis";
}

std::int64_t fragments_together(const StageProgram& p) {
  const MatrixUnit& u = *p.matrix();
  // One that a thread issues for the block has the block's.
  const bool of_block = of_micro_kernel(p, [](const auto& kernel) { return issued_for_block(kernel); });
  const std::int64_t neighbours = (of_block ? p.block[u.columns] : p.mapping[u.columns].per_thread) / u.n;
  std::int64_t together = u.max_columns / u.n;
  while (neighbours % together != 0) --together;
  return together;
}

}  // namespace tilescope::tile

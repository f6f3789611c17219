// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/row_reduction.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "tile/microkernel/mma.h"

namespace tilescope::tile {
namespace {

using arch::FragmentAxis;
using arch::FragmentBit;

const arch::FragmentMap& results_of(const MatrixUnit& unit) { return unit.spec->fragments->c; }

// The axes of threads or warps, the slowest first, that several of them take part in.
std::vector<std::size_t> shared_axes(const StageProgram& p) {
  std::vector<std::size_t> out;
  for (const int a : p.thread_order)
    if (p.mapping[static_cast<std::size_t>(a)].threads > 1) out.push_back(static_cast<std::size_t>(a));
  return out;
}

bool loops_one_by_one(const TileSpace& space) {
  for (std::size_t a = 0; a < space.axes.size(); ++a)
    if (space.axes[a].axes != std::vector<int>{static_cast<int>(a)}) return false;
  return true;
}

// A map's bits with columns as depth.
std::vector<FragmentBit> as_depth(std::vector<FragmentBit> bits) {
  for (FragmentBit& b : bits)
    if (b.axis == FragmentAxis::kColumn) b.axis = FragmentAxis::kDepth;
  return bits;
}

// The row reduction of what a micro-kernel holds, with the unit's axes renamed.
struct RowsOf {
  const MatrixUnit& unit;

  MicroKernel operator()(const Fma& kernel) const { return kernel; }  // which holds no rows
  MicroKernel operator()(const Mma& /*kernel*/) const { return RowReduction{Mma{unit}}; }
  MicroKernel operator()(const Wgmma& /*kernel*/) const { return RowReduction{Wgmma{unit}}; }
  MicroKernel operator()(const Tcgen05& kernel) const { return kernel; }  // whose rows lanes_of_row leaves out
  MicroKernel operator()(const Epilogue& kernel) const { return std::visit(*this, kernel.holder); }
  MicroKernel operator()(const RowReduction& kernel) const { return kernel; }
};

}  // namespace

std::optional<std::int64_t> lanes_of_row(const MatrixUnit& unit) {
  if (!unit.spec || !unit.spec->fragments || unit.spec->accumulators) return std::nullopt;
  std::int64_t lanes = 1;
  bool below = true;  // bits of columns alone so far
  for (const FragmentBit& b : results_of(unit).lanes) {
    if (b.axis == FragmentAxis::kNone || (b.axis == FragmentAxis::kColumn && !below)) return std::nullopt;
    below = below && b.axis == FragmentAxis::kColumn;
    if (below) lanes *= 2;
  }
  return lanes;
}

std::optional<std::vector<std::size_t>> axes_of_reads(const TileSpace& space, const std::string& tensor) {
  std::optional<std::vector<std::size_t>> out;
  for (const expr::Read& r : space.stage().reads) {
    if (space.expression.tensors[static_cast<std::size_t>(r.tensor)].name != tensor) continue;
    std::vector<std::size_t> here;
    for (const expr::Coordinate& c : r.at) {
      const std::optional<int> axis = c.bare_axis();
      if (!axis || std::count(here.begin(), here.end(), static_cast<std::size_t>(*axis)) > 0) return std::nullopt;
      here.push_back(static_cast<std::size_t>(*axis));
    }
    if (out && *out != here) return std::nullopt;
    out = std::move(here);
  }
  return out;
}

std::string row_reduction_refusal(const TileSpace& space, const std::string& tensor) {
  if (space.axes.size() != space.spatial + 1) return fmt::format("the stage of {} reduces no row", space.output.name);
  if (!space.stage().indices.empty() || !space.expression.scalars.empty() || space.values != 1 || space.gathers ||
      !loops_one_by_one(space))
    return fmt::format("the stage of {} reads more than {}", space.output.name, tensor);
  const auto at = axes_of_reads(space, tensor);
  if (!at || at->size() != space.axes.size() || at->back() != space.spatial)
    return fmt::format("the stage of {} does not read {} at its own places, by rows", space.output.name, tensor);
  for (std::size_t d = 0; d < at->size(); ++d)
    if (const auto& shape = space.expression.tensors[static_cast<std::size_t>(space.inputs.front().tensor)].shape;
        shape[d] != space.axes[(*at)[d]].extent)
      return fmt::format("the stage of {} reads {} of the {} of {} along {}", space.output.name,
                         space.axes[(*at)[d]].extent, shape[d], tensor, space.axes[(*at)[d]].name);
  return {};
}

std::string row_reduction_refusal(const TileSpace& space, const StageProgram& holder) {
  const std::string& tensor = holder.space->output.name;
  if (std::string why = row_reduction_refusal(space, tensor); !why.empty()) return why;
  const MatrixUnit* unit = holding_unit_of(holder.micro_kernel);
  if (unit == nullptr || holder.sharers() > 1 || !loops_one_by_one(*holder.space))
    return fmt::format("lanes of no matrix instruction hold {}", tensor);
  if (unit->columns + 1 != holder.space->spatial)
    return fmt::format("the rows of {} run along {}, which is not its last axis", unit->instruction,
                       holder.space->axes[unit->columns].name);
  if (!lanes_of_row(*unit)) return fmt::format("the lanes of a row of {} are no neighbours", unit->instruction);
  if (holder.mapping[unit->columns].threads > 1 || holder.mapping[unit->columns].vthread > 1)
    return fmt::format("{} warps have parts of a row", holder.mapping[unit->columns].threads);
  if (const std::int64_t step = holder.block[unit->columns], extent = space.axes.back().extent; extent % step != 0)
    return fmt::format("steps of {} do not divide its {} along {}", step, extent, space.axes.back().name);
  return {};
}

StageProgram make_row_reduction(std::shared_ptr<const TileSpace> space, const StageProgram& holder) {
  base::check(row_reduction_refusal(*space, holder).empty(), "a row reduction of rows that lanes hold");
  const std::vector<std::size_t> own = *axes_of_reads(*space, holder.space->output.name);
  MatrixUnit unit = *holding_unit_of(holder.micro_kernel);
  base::FixedVector<AxisMapping, kMaxAxes> mapping(space->spatial, AxisMapping{});
  for (std::size_t a = 0; a < own.size(); ++a)
    if (a != unit.columns) mapping[own[a]] = holder.mapping[a];
  Extents step(space->axes.size(), 1);
  step.back() = holder.block[unit.columns];
  const std::size_t reduced = space->spatial;
  StageProgram p = make_stage_program(std::move(space), mapping, step, base::Bytes{1});
  p.thread_order.clear();
  for (const int a : holder.thread_order)
    if (static_cast<std::size_t>(a) != unit.columns)
      p.thread_order.push_back(static_cast<int>(own[static_cast<std::size_t>(a)]));
  p.reduction_threads[reduced] = *lanes_of_row(unit);
  p.block_order = holder.block_order;
  p.group_m = holder.group_m;
  p.registers = holder.registers;
  for (OperandPlan& plan : p.operands) plan = {};
  unit.rows = own[unit.rows];
  unit.columns = reduced;
  p.micro_kernel = std::visit(RowsOf{unit}, holder.micro_kernel);
  return p;
}

std::string rows_refusal(const StageProgram& reader, const StageProgram& rows,
                         const std::vector<std::optional<std::size_t>>& at) {
  const std::string& tensor = rows.space->output.name;
  const MatrixUnit *unit = holding_unit_of(reader.micro_kernel), *its = holding_unit_of(rows.micro_kernel);
  if (unit == nullptr || its == nullptr || !(results_of(*unit) == results_of(*its)) || unit->m != its->m)
    return fmt::format("other lanes hold the rows of {}", tensor);
  std::vector<bool> matched(reader.space->spatial, false);
  bool same = at.size() > its->rows && at[its->rows] == unit->rows;
  for (std::size_t a = 0; a < rows.space->spatial; ++a) {
    if (!at[a] || *at[a] >= reader.space->spatial) {
      same = same && rows.mapping[a].threads == 1;
      continue;
    }
    matched[*at[a]] = true;
    same = same && rows.mapping[a] == reader.mapping[*at[a]];
  }
  for (std::size_t a = 0; a < matched.size(); ++a) same = same && (matched[a] || reader.mapping[a].threads == 1);
  const std::vector<std::size_t> own = shared_axes(reader), theirs = shared_axes(rows);
  same = same && own.size() == theirs.size();
  for (std::size_t i = 0; same && i < own.size(); ++i) same = at[theirs[i]] == own[i];
  return same ? std::string() : fmt::format("other warps have the rows of {}", tensor);
}

std::string held_fragments_refusal(const StageProgram& reader, const StageProgram& holder) {
  const std::string& tensor = holder.space->output.name;
  const MatrixUnit *own = unit_of(reader.micro_kernel), *its = holding_unit_of(holder.micro_kernel);
  if (own == nullptr || its == nullptr || std::holds_alternative<RowReduction>(holder.micro_kernel))
    return fmt::format("no instruction multiplies what registers have of {}", tensor);
  const MatrixUnit& unit = *own;
  if (!unit.spec || !unit.spec->fragments || !unit.spec->fragments->a)
    return fmt::format("{} reads its first operand from the scratchpad, and registers have {}", unit.instruction,
                       tensor);
  if (is_converted(reader, 0)) return fmt::format("{} is converted before it is multiplied", tensor);
  const auto at = axes_of_reads(*reader.space, tensor);
  if (!at || at->size() != holder.space->spatial || (*at)[its->rows] != unit.rows ||
      (*at)[its->columns] != unit.depth || its->columns + 1 != holder.space->spatial || its->rows + 1 != its->columns ||
      reader.space->axes.size() != reader.space->spatial + 1)
    return fmt::format("the rows of {} are not those of its first operand", tensor);
  // Fragments of results side by side along the columns are one fragment along the depth.
  std::vector<FragmentBit> elements = as_depth(results_of(*its).elements);
  for (std::int64_t n = its->n; n < unit.k; n *= 2) elements.push_back({FragmentAxis::kDepth, n});
  const arch::FragmentMap& fragments = fragment_map(unit, 0);
  if (its->m != unit.m || unit.k % its->n != 0 || as_depth(results_of(*its).lanes) != fragments.lanes ||
      elements != fragments.elements)
    return fmt::format("{} holds the results of {} otherwise than {} reads fragments", its->instruction, tensor,
                       unit.instruction);
  if (holder.mapping[its->columns].threads > 1 || holder.mapping[its->columns].vthread > 1)
    return fmt::format("several warps have parts of a row of {}", tensor);
  if (holder.block[its->columns] != reader.block[unit.depth] ||
      reader.space->axes[unit.depth].extent % reader.block[unit.depth] != 0)
    return fmt::format("steps of {} along {} are not those of its first operand", reader.block[unit.depth],
                       reader.space->axes[unit.depth].name);
  std::vector<std::optional<std::size_t>> rows;
  for (const std::size_t a : *at) rows.emplace_back(a < reader.space->spatial ? std::optional(a) : std::nullopt);
  return rows_refusal(reader, holder, rows);
}

}  // namespace tilescope::tile

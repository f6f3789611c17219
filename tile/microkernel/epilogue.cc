// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/epilogue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "tile/microkernel/mma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {
namespace {

// Whether the coordinates are the stage's spatial loops, one by one.
bool at_own_place(const expr::Read& read, std::size_t loops) {
  if (read.at.size() != loops) return false;
  for (std::size_t d = 0; d < loops; ++d) {
    const std::optional<int> axis = read.at[d].bare_axis();
    if (!axis || *axis != static_cast<int>(d)) return false;
  }
  return true;
}

// The axis letter of a fragment of results along a spatial axis.
arch::FragmentAxis letter_of(const MatrixUnit& unit, std::size_t axis) {
  if (axis == unit.rows) return arch::FragmentAxis::kRow;
  return axis == unit.columns ? arch::FragmentAxis::kColumn : arch::FragmentAxis::kNone;
}

struct EpilogueOf {
  MicroKernel operator()(const Epilogue& kernel) const { return kernel; }
  MicroKernel operator()(const RowReduction& kernel) const { return kernel; }  // which no epilogue continues
  template <class Kernel>
  MicroKernel operator()(const Kernel& kernel) const {
    return Epilogue{kernel};
  }
};

}  // namespace

std::string epilogue_refusal(const TileSpace& space, const TileSpace& holder, const std::string& tensor) {
  if (space.axes.size() > space.spatial) return fmt::format("the stage of {} reduces", space.output.name);
  if (space.gathers) return fmt::format("the stage of {} reads coordinates from a table", space.output.name);
  const std::vector<expr::Axis>&own = space.stage().axes, &its = holder.stage().axes;
  if (!space.reads(tensor)) return fmt::format("the stage of {} does not read {}", space.output.name, tensor);
  for (const expr::Read& r : space.stage().reads)
    if (space.expression.tensors[static_cast<std::size_t>(r.tensor)].name == tensor && !at_own_place(r, own.size()))
      return fmt::format("the stage of {} reads {} at other places than its own", space.output.name, tensor);
  for (std::size_t a = 0; a < own.size(); ++a)
    if (own[a].size != its[a].size)
      return fmt::format("{} has {} along {}, and {} has {} along {}", space.output.name, own[a].size, own[a].name,
                         tensor, its[a].size, its[a].name);
  return {};
}

std::shared_ptr<const TileSpace> epilogue_space(const expr::Expression& one_stage, const TileSpace& holder) {
  AxisCollapse collapse;
  for (std::size_t a = 0; a < holder.spatial; ++a) collapse.push_back(holder.axes[a].axes);
  return make_space(one_stage, collapse);
}

MicroKernel epilogue_of(const MicroKernel& holder) { return std::visit(EpilogueOf{}, holder); }

StageProgram make_epilogue(std::shared_ptr<const TileSpace> space, const StageProgram& holder, base::Bytes max_vector) {
  base::check(space->axes.size() == holder.space->spatial, "an epilogue has the spatial axes of its holder");
  const std::size_t spatial = space->spatial;
  StageProgram p = make_stage_program(std::move(space), holder.mapping, Extents(spatial, 1), max_vector);
  p.thread_order = holder.thread_order;
  p.block_order = holder.block_order;
  p.group_m = holder.group_m;
  p.cluster = holder.cluster;
  p.registers = holder.registers;
  p.micro_kernel = epilogue_of(holder.micro_kernel);
  for (std::size_t i = 0; i < p.operands.size(); ++i) {
    p.operands[i] = {};
    p.operands[i].vector = default_vector(p, i, max_vector);
  }
  return p;
}

std::string epilogue_refusal(const StageProgram& p) {
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i)
    if (p.operands[i].cached) return fmt::format("an epilogue keeps no tile of {}", p.space->inputs[i].name);
  return {};
}

std::int64_t results_of_thread(const StageProgram& p, std::size_t axis) {
  const std::int64_t all = axis < p.space->spatial ? p.mapping[axis].thread_extent() : p.block[axis];
  const MatrixUnit* unit = holding_unit_of(p.micro_kernel);
  if (unit == nullptr || (axis != unit->rows && axis != unit->columns)) return all;
  std::int64_t held = 1;
  for (const FragmentDigit& d : digits_of(unit->spec->fragments->c.elements))
    if (d.axis == letter_of(*unit, axis)) held *= d.count;
  return all / (axis == unit->rows ? unit->m : unit->n) * held;
}

std::int64_t neighbouring_results_along(const StageProgram& p, std::size_t axis) {
  const Operand& o = p.space->output;
  const bool beside =
      !o.dims.empty() && o.dims.back().terms.size() == 1 && o.dims.back().terms[0].axis == static_cast<int>(axis);
  if (std::holds_alternative<Epilogue>(p.micro_kernel) && !beside) return 1;
  const MatrixUnit* unit = holding_unit_of(p.micro_kernel);
  return unit == nullptr ? p.mapping[axis].per_thread : neighbouring_results(*unit, letter_of(*unit, axis));
}

}  // namespace tilescope::tile

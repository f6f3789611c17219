// SPDX-License-Identifier: Apache-2.0
#include "tile/program.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/integer.h"
#include "expr/reference.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {

std::size_t RProgram::stages() const {
  return std::visit([](const auto& of) { return of.size(); }, nodes);
}

RProgram program_of(std::string arch, StageProgram stage) {
  std::vector<StageProgram> nodes;
  nodes.push_back(std::move(stage));
  return {std::move(arch), std::move(nodes), {}};
}

RProgram program_of(std::string arch, BspStage stage) {
  std::vector<BspStage> nodes;
  nodes.push_back(std::move(stage));
  return {std::move(arch), std::move(nodes), {}};
}

namespace {

template <class Stage>
bool add_to(Nodes& nodes, Stage stage) {
  if (std::visit([](const auto& of) { return of.empty(); }, nodes)) nodes = std::vector<Stage>();
  auto* of = std::get_if<std::vector<Stage>>(&nodes);
  if (of != nullptr) of->push_back(std::move(stage));
  return of != nullptr;
}

}  // namespace

bool RProgram::add(StageProgram stage) { return add_to(nodes, std::move(stage)); }
bool RProgram::add(BspStage stage) { return add_to(nodes, std::move(stage)); }

const TileSpace& RProgram::space(std::size_t stage) const {
  return std::visit([&](const auto& of) -> const TileSpace& { return *of[stage].space; }, nodes);
}

std::optional<std::size_t> StageProgram::grouped_axis() const {
  if (space->spatial < 2) return std::nullopt;
  return block_order == BlockOrder::kRow ? space->spatial - 2 : 1;
}

// Groups whose rows a cluster divides have its blocks next to each other already.
base::FixedVector<BlockDigit, kMaxAxes + 2> StageProgram::block_digits() const {
  base::FixedVector<BlockDigit, kMaxAxes + 2> out;
  const std::optional<std::size_t> grouped = group_m > 1 ? grouped_axis() : std::nullopt;
  const bool along_groups = grouped == cluster.axis;
  for (std::size_t i = 0; i < space->spatial; ++i) {
    const std::size_t a = block_order == BlockOrder::kRow ? i : space->spatial - 1 - i;
    const std::int64_t apart = a == grouped ? group_m : a == cluster.axis ? cluster.blocks : 1;
    out.push_back({a, blocks_along(a) / apart, apart});
  }
  if (grouped) out.push_back({*grouped, group_m, 1});
  if (cluster.blocks > 1 && !along_groups) out.push_back({cluster.axis, cluster.blocks, 1});
  return out;
}

std::int64_t SimtSchedule::threads() const {
  std::int64_t n = lanes() * sharers();
  for (const AxisMapping& m : mapping) n *= m.threads;
  return n;
}

std::int64_t SimtSchedule::sharers() const {
  std::int64_t n = 1;
  for (const std::int64_t threads : reduction_threads) n *= threads;
  return n;
}

std::int64_t StageProgram::stages_held() const {
  if (loop_stages > 1) return loop_stages;
  return num_stages > 1 && (steps() > 1 || is_persistent()) ? num_stages : 1;
}

std::int64_t StageProgram::thread_iterations_along(std::size_t axis) const {
  const std::int64_t all = iterations_along(axis);
  if (reduction_threads[axis] == 1) return all;
  return base::ceil_div(all, reduction_threads[axis] * thread[axis]) * thread[axis];
}

double StageProgram::iterations_per_step() const {
  double n = 1;
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    n *= static_cast<double>(thread_iterations_along(a));
  return n;
}

double StageProgram::reduction_tiles_per_step() const {
  double n = iterations_per_step();
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) n /= static_cast<double>(thread[a]);
  return n;
}

namespace {

// How many neighbours along an axis a thread takes at a time.
std::int64_t neighbours_along(const StageProgram& p, std::size_t axis) {
  return axis < p.space->spatial ? p.mapping[axis].per_thread : p.thread[axis];
}

}  // namespace

bool in_registers(const StageProgram& p, std::size_t input) {
  if (input < p.space->values || p.space->is_scale(input)) return true;
  for (std::size_t i = 0; i < p.space->values; ++i)
    if (const auto& g = p.space->inputs[i].gathered; g && g->table == input && !p.operands[i].cached) return true;
  return false;
}

bool reads_reduction_tile(const StageProgram& p, const Operand& o, std::size_t dim) {
  const TileDim& d = o.dims[dim];
  if (o.im2col || d.whole || d.terms.size() < 2 || p.space->gathers) return false;
  bool beside = false, shares = false;
  std::int64_t one_by_one = 1;
  for (const expr::Term& t : d.terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    if (t.coefficient < 1) return false;
    for (std::size_t other = 0; other < o.dims.size(); ++other)
      for (const expr::Term& u : o.dims[other].terms)
        if (other != dim && u.axis == t.axis) return false;
    beside = beside || t.coefficient == 1;
    shares = shares || (axis >= p.space->spatial && p.thread[axis] > 1);
    one_by_one *= neighbours_along(p, axis);
  }
  return beside && shares && reduction_tile_extent(p, d) <= one_by_one;
}

std::int64_t reduction_tile_extent(const StageProgram& p, const TileDim& dim) {
  std::int64_t n = 1;
  for (const expr::Term& t : dim.terms)
    n += t.coefficient * (neighbours_along(p, static_cast<std::size_t>(t.axis)) - 1);
  return n;
}

std::string dtypes_refusal(const arch::ComputeSpec& instruction, const TileSpace& space) {
  const expr::Expression& e = space.expression;
  if (instruction.dtype != e.dtype || instruction.accumulate != e.accumulate)
    return fmt::format("multiplies {} into {}, the node {} into {}", base::name_of(instruction.dtype),
                       base::name_of(instruction.accumulate), base::name_of(e.dtype), base::name_of(e.accumulate));
  for (std::size_t i = 0; i < space.values; ++i) {
    const Operand& o = space.inputs[i];
    const base::Dtype dtype = e.tensors[static_cast<std::size_t>(o.tensor)].dtype;
    if (dtype == e.dtype || (converts_operands(instruction) && expr::holds(e.dtype, dtype))) continue;
    return fmt::format("multiplies {}, and {} is {}", base::name_of(e.dtype), o.name, base::name_of(dtype));
  }
  return {};
}

bool converts_operands(const arch::ComputeSpec& instruction) { return instruction.fragments && !instruction.operands; }

bool is_converted(const StageProgram& p, std::size_t operand) {
  const expr::Expression& e = p.space->expression;
  return e.tensors[static_cast<std::size_t>(p.space->inputs[operand].tensor)].dtype != e.dtype;
}

bool is_matrix_product(const TileSpace& space, std::size_t rows, std::size_t columns, std::size_t depth) {
  const bool product = space.macs_per_iteration == 1 &&
                       space.other_flops_per_iteration == static_cast<double>(space.scales()) &&
                       space.special_per_iteration == 0 && space.values == 2;
  const bool kinds = rows < space.spatial && columns < space.spatial && depth >= space.spatial;
  if (!product || !kinds || depth >= space.axes.size()) return false;
  const auto uses = [&](std::size_t input, std::size_t axis) {
    return space.inputs[input].uses(static_cast<int>(axis));
  };
  const auto moves_several = [&](const Operand& o) {
    return std::any_of(o.dims.begin(), o.dims.end(),
                       [&](const TileDim& d) { return d.terms.size() == 1 && o.dims_of(d.terms[0].axis) > 1; });
  };
  for (const Operand* o : {&space.inputs[0], &space.inputs[1], &space.output}) {  // no tables of coordinates
    if (moves_several(*o)) return false;
    for (const TileDim& d : o->dims)
      if (d.whole || d.spread != 0 || d.terms.size() > 1 || (d.terms.size() == 1 && d.terms[0].coefficient != 1))
        return false;
  }
  return uses(0, rows) && !uses(1, rows) && !uses(0, columns) && uses(1, columns) && uses(0, depth) && uses(1, depth);
}

StageProgram make_stage_program(std::shared_ptr<const TileSpace> space,
                                const base::FixedVector<AxisMapping, kMaxAxes>& mapping, const Extents& step,
                                base::Bytes max_vector) {
  StageProgram p;
  p.mapping = mapping;
  p.block = step;
  p.thread.assign(space->axes.size(), 1);
  p.split.assign(space->axes.size(), 1);
  p.reduction_threads.assign(space->axes.size(), 1);
  for (std::size_t a = 0; a < space->spatial; ++a) {
    p.block[a] = mapping[a].block_extent();
    p.thread[a] = mapping[a].thread_extent();
    p.thread_order.push_back(static_cast<int>(a));
  }
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) p.reduction_order.push_back(static_cast<int>(a));
  const bool reduces = space->axes.size() > space->spatial;
  p.space = std::move(space);
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    p.operands.push_back({.cached = reduces && i < p.space->values});
    p.operands[i].vector = default_vector(p, i, max_vector);
  }
  return p;
}

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/stage.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilescope::lower {

using tile::Operand;

Stage::Stage(const tile::StageProgram& program, const arch::ArchSpec& its_chip, StagePlace its_place,
             BlockBuilder& its_block)
    : p(program),
      chip(its_chip),
      block(its_block),
      place(std::move(its_place)),
      indices(program, place.begins, its_block.indices()),
      addresses(program, its_block.indices()),
      staging(tile::staging_of(program, its_chip.core)),
      tiles(program.space->operand_count()),
      operand_of_(program.space->stage().reads.size()) {
  for (std::size_t i = 0; i < space().inputs.size(); ++i)
    for (const int r : space().inputs[i].reads) operand_of_[static_cast<std::size_t>(r)] = i;
}

const expr::Tensor& Stage::tensor_of(const Operand& o) const {
  return expression().tensors[static_cast<std::size_t>(o.tensor)];
}

bool Stage::any_cached() const {
  return std::any_of(p.operands.begin(), p.operands.begin() + space().inputs.size(),
                     [](const tile::OperandPlan& o) { return o.cached; });
}

bool Stage::cached(std::size_t r) const {
  const std::size_t i = operand_of_[r];
  const Operand& o = space().inputs[i];
  return p.operands[i].cached && (!o.im2col || read(r) == read(static_cast<std::size_t>(o.reads.front())));
}

std::size_t Stage::first_equal(std::size_t r) const {
  return static_cast<std::size_t>(std::find(stage().reads.begin(), stage().reads.end(), read(r)) -
                                  stage().reads.begin());
}

std::vector<expr::Node> Stage::body() const {
  std::vector<expr::Node> out = stage().body;
  for (expr::Node& n : out)
    if (n.kind == expr::NodeKind::kScalar) n.index = scalars[static_cast<std::size_t>(n.index)];
  return out;
}

std::vector<Affine> Stage::indices_of_body(const std::vector<Affine>& axes) {
  std::vector<Affine> out;
  for (const expr::Coordinate& c : stage().indices) out.push_back(addresses.coordinate(c, axes));
  return out;
}

std::vector<Affine> Stage::local_values(const std::vector<std::vector<AxisLoop>>& loops) const {
  std::vector<Affine> local(space().axes.size());
  for (std::size_t a = 0; a < local.size(); ++a) local[a] = indices.along(a, loops[a]);
  return local;
}

std::vector<Affine> Stage::absolute_values(const std::vector<Affine>& local, const StepPosition& at) const {
  std::vector<Affine> axes;
  for (std::size_t a = 0; a < local.size(); ++a) axes.push_back(at.begin[a] + local[a]);
  return axes;
}

CachedTile Stage::shape_of_tile(std::size_t operand) const {
  CachedTile t;
  t.shape = tile::data_tile(space().operand(operand), p.block);
  t.pitch = t.shape;
  t.ring_stage_elements = 1;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    t.pitch[d] = t.ring_stage_elements;
    t.ring_stage_elements *= t.shape[d] + (d + 1 == t.shape.size() ? p.operands[operand].padding : 0);
  }
  return t;
}

int Stage::neighbour_axis(const Operand& o) const {
  const int axis = o.contiguous_axis();
  return axis >= 0 && static_cast<std::size_t>(axis) < space().spatial ? axis : -1;
}

void Stage::add_ends(std::size_t a, const Affine& value, std::vector<Guard>& inside) const {
  const auto guard = [&](const Affine& v, std::int64_t bound) {
    const Guard g{v, bound};
    const bool known = std::find(inside.begin(), inside.end(), g) != inside.end();
    if (!known && block.indices().range(v).high >= bound) inside.push_back(g);
  };
  if (p.split[a] > 1) guard(value - indices.block_begin(a), indices.part_extent(a));
  guard(value, space().axes[a].extent);
}

Body Stage::in_chunk_loops(Body body, std::int64_t iterations) const {
  std::vector<AxisLoop> loops = indices.chunk_loops();
  if (loops.empty()) return body;
  std::int64_t statements = 1;
  for (std::size_t a = 0; a < space().axes.size(); ++a) statements *= indices.mapping(a).thread_extent();
  statements /= iterations;
  const AxisLoop inner = loops.back();
  loops.pop_back();
  const std::int64_t unroll = p.unroll == 0 ? 0 : std::clamp<std::int64_t>(p.unroll / statements, 1, inner.extent);
  Body innermost;
  innermost.push_back(looped(inner, std::move(body), unroll));
  return nest(loops, std::move(innermost), false);
}

void Stage::check_aligned(const std::string& name, const Located& where, std::int64_t vector) {
  if (alignment_of(where.offset, vector) != vector)
    block.refuse(
        fmt::format("operand {}: its accesses of {} elements do not all begin at a multiple of that", name, vector));
}

}  // namespace tilescope::lower

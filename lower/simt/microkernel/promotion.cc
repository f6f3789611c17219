// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/promotion.h"

#include <algorithm>
#include <utility>

#include "tile/microkernel/epilogue.h"

namespace tilescope::lower {
namespace {

// The product of so many operands.
std::vector<expr::Node> product(std::size_t operands) {
  std::vector<expr::Node> out;
  for (std::size_t o = 0; o < operands; ++o) {
    out.push_back({.kind = expr::NodeKind::kRead, .index = static_cast<int>(o)});
    if (o == 0) continue;
    const int right = static_cast<int>(out.size()) - 1;
    out.push_back({.kind = expr::NodeKind::kMultiply, .left = right - 1, .right = right});
  }
  return out;
}

}  // namespace

void Promotion::add_registers() {
  const tile::TileSpace& space = s_.space();
  const Buffer results = s_.block.kernel().buffers[static_cast<std::size_t>(s_.results.accumulators)];
  sums_ = s_.block.registers(space.output.name + "_step", results.dtype, results.elements);
  for (std::size_t i = space.values; i < space.inputs.size(); ++i) {
    const tile::Operand& o = space.inputs[i];
    Scale scale{.input = i};
    for (const tile::TileDim& d : o.dims) {
      if (d.terms.empty() || d.shared_by > 1) continue;
      const auto axis = static_cast<std::size_t>(d.terms[0].axis);
      scale.axes.push_back(axis);
      scale.elements *= tile::results_of_thread(s_.p, axis);
    }
    scale.registers = s_.block.registers(o.name + "_part", s_.tensor_of(o).dtype, scale.elements);
    scales_.push_back(std::move(scale));
  }
  std::ranges::stable_sort(scales_, std::greater{}, &Scale::elements);
}

std::vector<AxisLoop> Promotion::loops(const Scale& scale) {
  const std::vector<std::vector<AxisLoop>> results = tile_.result_loops(1);
  std::vector<AxisLoop> out;
  for (const std::size_t a : scale.axes) out.insert(out.end(), results[a].begin(), results[a].end());
  return out;
}

Affine Promotion::place(const Scale& scale) {
  Affine place;
  std::int64_t faster = 1;
  const std::vector<AxisLoop> all = loops(scale);
  for (auto l = all.rbegin(); l != all.rend(); faster *= l->extent, ++l)
    place = place + s_.maker().value(l->index) * faster;
  return place;
}

// Along an axis whose iterations share the scale, where the lanes' tile begins is as good as where a lane's results
// lie.
Statement Promotion::load(const Scale& scale, const StepPosition& at) {
  const std::vector<std::vector<AxisLoop>> results = tile_.result_loops(1);
  std::vector<std::vector<AxisLoop>> by_axis(results.size());
  for (const std::size_t a : scale.axes) by_axis[a] = results[a];
  std::vector<Affine> local = s_.local_values(by_axis), of_lane = local;
  tile_.add_lane(of_lane);
  for (const std::size_t a : scale.axes) local[a] = of_lane[a];
  local[tile_.unit().depth] = constant(0);
  const tile::Operand& o = s_.space().inputs[scale.input];
  const auto r = static_cast<std::size_t>(o.reads.front());
  Located from = s_.addresses.in_memory(o, s_.read(r), s_.absolute_values(local, at));
  Copy copy{{scale.registers, place(scale)}, {s_.memory[scale.input], from.offset}, 1, {}, std::move(from.inside)};
  Body body;
  body.push_back({std::move(copy), {}});
  return noted(nest(loops(scale), std::move(body), true).front(), "the step's " + o.name);
}

Body Promotion::load(const StepPosition& at) {
  Body body;
  for (const Scale& scale : scales_) body.push_back(load(scale, at));
  return body;
}

Statement Promotion::multiply(const Scale& scale, const Scale& shared) {
  const Compute c{
      {scale.registers, place(scale)}, expr::Reducer::kProduct, product(1), {{shared.registers, constant(0)}}};
  return nest(loops(scale), {{c, {}}}, true).front();
}

Body Promotion::add() {
  Body body;
  const Affine at = tile_.result_position(1);
  Compute c{{s_.results.accumulators, at}, expr::Reducer::kSum, {}, {{sums_, at}}};
  for (const Scale& scale : scales_) {
    if (&scale != &scales_.front() && scale.elements == 1) {
      body.push_back(multiply(scales_.front(), scale));
      continue;
    }
    c.operands.push_back({scale.registers, place(scale)});
  }
  c.body = product(c.operands.size());
  body.push_back(
      noted(nest(joined(tile_.result_loops(1)), {{std::move(c), {}}}, true).front(), "promote the step's sums"));
  return body;
}

}  // namespace tilescope::lower

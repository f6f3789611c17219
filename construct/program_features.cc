// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/program_features.h"

#include <cmath>

#include "base/integer.h"
#include "tile/space.h"

namespace tilescope::construct {
namespace {

class Collector {
 public:
  void amount(double n) { choice(std::log2(1 + n)); }
  void amount(std::int64_t n) { amount(static_cast<double>(n)); }
  void choice(double n) { features_.push_back(static_cast<float>(n)); }
  Features take() { return std::move(features_); }

 private:
  Features features_;
};

// Axis `a` of the tiles; zeros where the collapse has fewer axes than the stage has loops.
void add_axis(const tile::StageProgram& p, std::size_t a, Collector& out) {
  const tile::TileSpace& space = *p.space;
  const bool there = a < space.axes.size(), spatial = a < space.spatial;
  const tile::AxisMapping m = spatial ? p.mapping[a] : tile::AxisMapping{0, 0, 0};
  out.amount(m.vthread);
  out.amount(m.threads);
  out.amount(m.per_thread);
  out.amount(there ? p.block[a] : 0);
  out.amount(there ? p.thread[a] : 0);
  out.amount(there ? base::ceil_div(space.axes[a].extent, p.block[a]) : 0);
  out.amount(there ? p.split[a] : 0);
}

void add_operand(const tile::StageProgram& p, std::size_t i, Collector& out) {
  const tile::Operand& o = p.space->operand(i);
  const tile::OperandPlan& plan = p.operands[i];
  out.choice(plan.cached ? 1 : 0);
  out.amount(plan.padding);
  out.amount(plan.vector);
  out.amount(plan.rotate);
  out.amount(tile::data_tile_elements(o, p.block, plan.padding));
  out.amount(tile::touched_elements(o, p.thread));
  out.amount(tile::runs_of(o, p.block).length);
}

}  // namespace

Features features_of(const tile::StageProgram& p) {
  Collector out;
  out.choice(static_cast<double>(p.space->axes.size()));
  for (std::size_t a = 0; a < p.space->stage().axes.size(); ++a) add_axis(p, a, out);
  // A way to collapse loops may split a tensor's reads into more operands; what all ways to collapse loops have are the
  // stage's tensors' first ones.
  const std::size_t inputs = p.space->expression.tensors.size() - 1;
  for (std::size_t i = 0; i < inputs; ++i)
    if (i < p.space->inputs.size())
      add_operand(p, i, out);
    else
      add_operand(p, p.space->inputs.size(), out);
  add_operand(p, p.space->inputs.size(), out);
  out.amount(p.threads());
  out.amount(p.blocks());
  out.amount(p.steps());
  out.amount(p.iterations_per_step());
  out.choice(static_cast<double>(p.num_stages));
  out.choice(static_cast<double>(p.block_order));
  out.amount(p.group_m);
  return out.take();
}

}  // namespace tilescope::construct

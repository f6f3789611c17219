// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/row_reduction.h"

#include <utility>

#include "tile/microkernel/row_reduction.h"

namespace tilescope::lower {

RowReductionLowering::RowReductionLowering(Stage& stage)
    : MicroKernelLowering(stage),
      held_(*stage.held(0)),
      own_(*tile::axes_of_reads(stage.space(), stage.tensor_of(stage.space().inputs.front()).name)) {}

std::vector<std::vector<AxisLoop>> RowReductionLowering::result_loops(std::int64_t /*vector*/) {
  std::vector<std::vector<AxisLoop>> theirs = held_.threads->result_loops(1), out(s_.space().axes.size());
  for (std::size_t a = 0; a < own_.size(); ++a)
    if (own_[a] < s_.space().spatial) out[own_[a]] = std::move(theirs[a]);
  return out;
}

Affine RowReductionLowering::result_position(std::int64_t /*vector*/) { return places_along(s_.results.axes, 1).place; }

void RowReductionLowering::add_lane(std::vector<Affine>& local) {
  std::vector<Affine> theirs(held_.threads->result_loops(1).size());
  held_.threads->add_lane(theirs);
  for (std::size_t a = 0; a < own_.size(); ++a)
    if (own_[a] < s_.space().spatial) local[own_[a]] = local[own_[a]] + theirs[a];
}

Body RowReductionLowering::finish(const Affine& /*step*/, const Affine& /*ring_stage*/) {
  const std::vector<std::vector<AxisLoop>> theirs = held_.threads->result_loops(1);
  std::vector<AxisLoop> loops = joined(result_loops(1));
  for (std::size_t a = 0; a < own_.size(); ++a)
    if (own_[a] >= s_.space().spatial) loops.insert(loops.end(), theirs[a].begin(), theirs[a].end());
  Compute c{{s_.results.accumulators, result_position(1)}, s_.stage().reducer, s_.body(), {}, {}};
  for (std::size_t r = 0; r < s_.stage().reads.size(); ++r)
    c.operands.push_back({held_.results->leaving, held_.threads->result_position(1)});
  if (c.reducer == expr::Reducer::kMean) c.reducer = expr::Reducer::kSum;  // divided when all is summed
  return nest(loops, {{std::move(c), {}}}, true);
}

}  // namespace tilescope::lower

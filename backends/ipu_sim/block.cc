// SPDX-License-Identifier: Apache-2.0
#include "backends/ipu_sim/detail/block.h"

#include "expr/reference.h"

namespace tilescope::ipu_sim {

using namespace lower::bsp;  // the program is all that this file is about

double reduced_iterations(const expr::Stage& loops) {
  double n = 1;
  for (const expr::Axis& a : loops.axes)
    if (a.reduction) n *= static_cast<double>(a.size);
  return n;
}

void set_point(const Axis& axis, const expr::Stage& loops, std::int64_t index, Points& point) {
  for (auto l = axis.loops.rbegin(); l != axis.loops.rend(); ++l) {
    const std::int64_t size = loops.axes[static_cast<std::size_t>(*l)].size;
    point[static_cast<std::size_t>(*l)] = index % size;
    index /= size;
  }
}

Block::Block(const Program& p, const Stage& s, std::int64_t core_, const Counters& at,
             const std::vector<std::int64_t>& slots_)
    : stage(s), expression(p.expressions[static_cast<std::size_t>(s.number)]), core(core_), slots(slots_) {
  bool last = true;
  for (std::size_t a = 0; a < s.axes.size(); ++a) {
    windows.push_back(window_of(s, a, Window::kBlock, core, at));
    if (!s.axes[a].reduced) ++spatial;
    begins = begins && (!s.axes[a].reduced || at[a] == 0);
    last = last && (!s.axes[a].reduced || at[a] == blocks_of(s.axes[a]) - 1);
  }
  ends = last && !s.reduce;
  keeps_sums = !ends || s.compute.sums != s.compute.result;
  for (const int b : s.compute.operands) operand_boxes.push_back(box_of(s, buffer(b), core, at));
  sums_box = box_of(s, sums(), core, at);
  result_box = box_of(s, result(), core, at);
}

const std::string& Block::output_name() const {
  return expression.tensors[static_cast<std::size_t>(loops().output)].name;
}

base::Dtype Block::output_dtype() const { return expression.tensors[static_cast<std::size_t>(loops().output)].dtype; }

std::int64_t Block::operand_begin(std::size_t read) const {
  const int number = stage.compute.operands[read];
  return begin_of(buffer(number), slots[static_cast<std::size_t>(number)]);
}

double Block::finished(double sum) const {
  if (loops().reducer != expr::Reducer::kMean) return sum;
  return expr::round_to(expression.accumulate, sum / reduced_iterations(loops()));
}

}  // namespace tilescope::ipu_sim

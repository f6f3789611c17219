#include "tile/transfer/results.h"

#include <algorithm>
#include <numeric>

#include "tile/microkernel/rules.h"

namespace tilescope::tile {
namespace {

// What a thread has side by side along the output's innermost dimension.
std::int64_t neighbours_of_thread(const StageProgram& p) {
  if (const auto of_lane = of_micro_kernel(p, [&](const auto& kernel) { return neighbouring_results(kernel, p); }))
    return *of_lane;
  const Operand& o = p.space->output;
  if (o.dims.empty() || o.dims.back().whole || o.dims.back().terms.size() != 1) return 1;
  if (o.steps.back().front().stride != 1) return 1;
  return p.mapping[static_cast<std::size_t>(o.dims.back().terms[0].axis)].serial;
}

}  // namespace

base::Bytes result_element(const StageProgram& p) {
  const bool split = std::any_of(p.split.begin(), p.split.end(), [](std::int64_t n) { return n > 1; });
  return split ? base::size_of(p.space->expression.accumulate) : p.space->output.element;
}

base::Bytes result_tile_bytes(const StageProgram& p) {
  const OperandPlan& plan = p.operands.back();
  if (!plan.staged) return {0};
  return result_element(p) * data_tile_elements(p.space->output, p.block, plan.padding);
}

std::int64_t results_side_by_side(const StageProgram& p, base::Bytes max_vector) {
  const TileShape shape = data_tile(p.space->output, p.block);
  if (shape.empty()) return 1;
  const std::int64_t run = std::gcd(neighbours_of_thread(p), shape.back() + p.operands.back().padding);
  std::int64_t v = 1;
  while (v * 2 * result_element(p).n <= max_vector.n && run % (v * 2) == 0) v *= 2;
  return v;
}

std::string results_refusal(const StageProgram& p) {
  const OperandPlan& plan = p.operands.back();
  if (plan.box != 0) return "results leave in no boxes";
  if (plan.staged && plan.swizzle != 0) return "rows of results are not rotated";
  return {};
}

StageProgram with_direct_stores(StageProgram p, base::Bytes max_vector) {
  p.operands.back() = {};
  p.operands.back().vector = default_vector(p, p.space->inputs.size(), max_vector);
  return p;
}

StageProgram with_row_stores(StageProgram p, std::int64_t padding, base::Bytes max_vector) {
  p.operands.back() = {.staged = true, .padding = padding};
  p.operands.back().vector = default_vector(p, p.space->inputs.size(), max_vector);
  return p;
}

}  // namespace tilescope::tile

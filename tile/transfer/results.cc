// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/results.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tile/microkernel/rules.h"
#include "tile/transfer/tma.h"
#include "tile/transfer/vectors.h"

namespace tilescope::tile {
namespace {

// What a thread has side by side along the output's innermost dimension.
std::int64_t neighbours_of_thread(const StageProgram& p) {
  if (const auto of_lane = of_micro_kernel(p, [&](const auto& kernel) { return neighbouring_results(kernel, p); }))
    return *of_lane;
  const Operand& o = p.space->output;
  if (o.dims.empty() || o.dims.back().whole || o.dims.back().terms.size() != 1) return 1;
  if (o.steps.back().front().stride != 1) return 1;
  return p.mapping[static_cast<std::size_t>(o.dims.back().terms[0].axis)].per_thread;
}

}  // namespace

base::Bytes result_element(const StageProgram& p) {
  return p.is_split() ? base::size_of(p.space->expression.accumulate) : p.space->output.element;
}

base::Bytes result_tile_bytes(const StageProgram& p) {
  const OperandPlan& plan = p.operands.back();
  if (!plan.cached) return {0};
  return result_element(p) * data_tile_elements(p.space->output, p.block, plan.padding);
}

base::Bytes swizzled_result_row(const StageProgram& p, const arch::TmaSpec& tma) {
  const base::Bytes row = p.space->output.element * p.operands.back().box;
  const bool swizzles = row.n >= shortest_row(tma).n && row.n <= tma.row.n && tma.row.n % row.n == 0;
  return swizzles && row.n > tma.granule.n ? row : base::Bytes{0};
}

std::int64_t results_side_by_side(const StageProgram& p, base::Bytes max_vector) {
  const TileShape shape = data_tile(p.space->output, p.block);
  if (shape.empty()) return 1;
  const OperandPlan& plan = p.operands.back();
  const std::int64_t run = std::gcd(neighbours_of_thread(p), plan.box != 0 ? plan.box : shape.back() + plan.padding);
  std::int64_t v = 1;
  while (v * 2 * result_element(p).n <= max_vector.n && run % (v * 2) == 0) v *= 2;
  return v;
}

std::string results_refusal(const StageProgram& p, const arch::ArchSpec& a) {
  const OperandPlan& plan = p.operands.back();
  if (plan.cached && plan.rotate != 0) return "rows of results are not rotated";
  if (plan.blocked) return "results are stored in stripes or by the TMA engine, not in blocks";
  if (plan.box == 0) return {};
  const std::string& name = p.space->output.name;
  if (!a.core.tma) return fmt::format("{} has no TMA engine (core.tma)", a.name);
  if (!plan.cached) return fmt::format("{} leaves from registers, and in no boxes", name);
  if (plan.padding != 0) return fmt::format("{}: boxes lie one after the other, without padding", name);
  if (p.is_split()) return "parts of a split reduction leave in no boxes";
  const std::size_t output = p.space->inputs.size();
  if (const std::string why = tensor_refusal(p, output, *a.core.tma); !why.empty())
    return fmt::format("{}: {}", name, why);
  const base::Bytes box = p.space->output.element * box_elements(p, output);
  if (box.n % a.core.tma->alignment.n != 0)
    return fmt::format("{}: a box of {} B would not begin at multiples of {} B", name, box.n, a.core.tma->alignment.n);
  const std::int64_t row = data_tile(p.space->output, p.block).back();
  if (row % plan.box != 0 || plan.box > a.core.tma->max_extent ||
      plan.box * p.space->output.element.n % a.core.tma->granule.n != 0)
    return fmt::format("{}: rows of {} elements are not those of a box", name, plan.box);
  return {};
}

void store_directly(StageProgram& p, base::Bytes max_vector) {
  p.operands.back() = {};
  p.operands.back().vector = default_vector(p, p.space->inputs.size(), max_vector);
}

void store_rows(StageProgram& p, std::int64_t padding, base::Bytes max_vector) {
  p.operands.back() = {.cached = true, .padding = padding};
  p.operands.back().vector = default_vector(p, p.space->inputs.size(), max_vector);
}

bool store_by_tma(StageProgram& p, base::Bytes row, const arch::ArchSpec& a) {
  const OperandPlan before = p.operands.back();
  p.operands.back() = {.cached = true, .box = row.n / p.space->output.element.n};
  if (p.operands.back().box != 0 && results_refusal(p, a).empty()) return true;
  p.operands.back() = before;
  return false;
}

StageProgram with_direct_stores(StageProgram p, base::Bytes max_vector) {
  store_directly(p, max_vector);
  return p;
}

StageProgram with_row_stores(StageProgram p, std::int64_t padding, base::Bytes max_vector) {
  store_rows(p, padding, max_vector);
  return p;
}

std::optional<StageProgram> with_tma_stores(StageProgram p, base::Bytes row, const arch::ArchSpec& a) {
  return store_by_tma(p, row, a) ? std::optional(std::move(p)) : std::nullopt;
}

}  // namespace tilescope::tile

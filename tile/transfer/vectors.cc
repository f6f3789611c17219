// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/vectors.h"

#include <algorithm>

#include "base/integer.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/results.h"

namespace tilescope::tile {
namespace {

// Whether the runs of all tiles begin at multiples of `v` elements of the tensor.
bool starts_align(const Operand& operand, const Extents& tile, std::int64_t v) {
  if (operand.dims.empty()) return true;
  const TileDim& last = operand.dims.back();
  if (!operand.im2col) {
    const bool fixed = last.whole || last.terms.empty();
    return fixed || tile[static_cast<std::size_t>(last.terms[0].axis)] * last.terms[0].coefficient % v == 0;
  }
  if (operand.alignment % v != 0) return false;
  // The run ends with its loop; every other loop moves its beginning, a filter's taps by one element.
  const CollapsedStep& run = operand.steps.back().front();
  if (run.stride != 1) return false;
  for (const std::vector<CollapsedStep>& steps : operand.steps)
    for (const CollapsedStep& s : steps)
      if ((s.size > 1 || s.goes_on) && (&s == &run ? s.size : s.stride) % v != 0) return false;
  return true;
}

}  // namespace

std::int64_t widest_vector(const Operand& operand, const Extents& tile, std::int64_t padding, base::Bytes max_vector) {
  const Runs runs = runs_of(operand, tile);
  if (runs.stride != 1) return 1;
  const TileShape shape = data_tile(operand, tile);
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  // A tile's rows start where a multiple of the tile does, or where a whole row of the tensor does.
  const std::int64_t pitch = operand.dims.empty() ? 1 : operand.dims[operand.dims.size() - 1].extent;
  // A filter's taps start anywhere, other reads at their offset.
  const bool taps = !operand.dims.empty() && operand.dims.back().terms.size() > 1;
  const std::int64_t low = operand.dims.empty() ? 0 : operand.dims.back().low;
  std::int64_t v = 1;
  while (!taps && v * 2 * operand.element.n <= max_vector.n && low % (v * 2) == 0 && row % (v * 2) == 0 &&
         pitch % (v * 2) == 0 && padding % (v * 2) == 0 && runs.length % (v * 2) == 0 &&
         starts_align(operand, tile, v * 2))
    v *= 2;
  return v;
}

namespace {

// Whether the parts of a split reduction begin at multiples of `v` elements of the tensor's rows.
bool parts_align(const StageProgram& p, const Operand& o, std::int64_t v) {
  const auto begins = [&](const expr::Term& t) {
    const auto a = static_cast<std::size_t>(t.axis);
    const std::int64_t parts = p.split[a];
    return parts == 1 ? 0 : base::ceil_div(p.space->axes[a].extent, parts) * t.coefficient;
  };
  for (const TileDim& d : o.dims)
    for (const expr::Term& t : d.terms) {
      const bool in_row = o.im2col || &d == &o.dims.back();  // other dimensions are whole rows apart
      if (in_row && begins(t) % v != 0) return false;
      if (o.im2col && begins(t) != 0) return v == 1;
    }
  return true;
}

}  // namespace

std::int64_t default_vector(const StageProgram& p, std::size_t i, base::Bytes max_vector) {
  const Operand& o = p.space->operand(i);
  const OperandPlan& plan = p.operands[i];
  if (plan.box != 0 || p.space->is_scale(i)) return 1;  // no thread copies it; of a scale few elements are read
  if (i == p.space->inputs.size() && plan.cached)
    return widest_vector(o, p.block, plan.padding, {max_vector.n * o.element.n / result_element(p).n});
  if (i == p.space->inputs.size())
    if (const auto neighbours = of_micro_kernel(p, [&](const auto& k) { return neighbouring_results(k, p); }))
      return *neighbours > 1 ? widest_vector(o, p.block, 0, {std::min(max_vector.n, *neighbours * o.element.n)}) : 1;
  if (plan.cached) {
    const std::int64_t shift = of_micro_kernel(p, [&](const auto& k) { return row_shift(k, plan); });
    std::int64_t v = widest_vector(o, p.block, shift, max_vector);
    while (v > 1 && !parts_align(p, o, v)) v /= 2;
    return v;
  }
  // Reads of neighbours begin one element apart; of which of them an im2col operand's are, its tile does not say.
  if (!o.dims.empty() && o.dims.back().spread != 0) return 1;
  if (o.im2col && o.reads.size() > 1) return 1;
  std::int64_t per_thread = 1;
  if (const int beside = o.contiguous_axis(); beside >= 0) {
    const auto axis = static_cast<std::size_t>(beside);
    per_thread = axis < p.space->spatial ? neighbouring_results_along(p, axis) : p.thread[axis];
  }
  std::int64_t v = widest_vector(o, p.thread, 0, max_vector);
  while (v > 1 && (per_thread % v != 0 || !parts_align(p, o, v))) v /= 2;
  return v;
}

}  // namespace tilescope::tile

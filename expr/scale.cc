// SPDX-License-Identifier: Apache-2.0
#include "expr/scale.h"

#include <algorithm>

#include "expr/detail/resolve.h"
#include "expr/extent.h"

namespace tilescope::expr {
namespace {

std::int64_t size_in(const Problem& problem, const Axis& axis) {
  for (const GivenSize& s : problem.sizes)
    if (s.axis == axis.name) return s.size;
  return axis.size;
}

std::vector<std::int64_t> sizes_of(const Stage& stage, const Problem& problem) {
  std::vector<std::int64_t> sizes;
  for (const Axis& a : stage.axes) sizes.push_back(size_in(problem, a));
  return sizes;
}

std::int64_t max_points_of(const Expression& e, const Problem& problem) {
  std::int64_t most = 0;
  for (const Stage& stage : e.stages) {
    std::int64_t points = 1;
    for (const std::int64_t n : sizes_of(stage, problem)) points *= n;
    most = std::max(most, points);
  }
  return most;
}

// The greatest coordinate that any stage reads of a tensor's dimension.
std::int64_t highest_read(const Expression& e, const Problem& problem, std::size_t tensor, std::size_t dim) {
  std::int64_t high = 0;
  for (const Stage& stage : e.stages)
    for (const Read& r : stage.reads) {
      if (static_cast<std::size_t>(r.tensor) != tensor) continue;
      if (const auto span = span_of(r.at[dim], sizes_of(stage, problem))) high = std::max(high, span->high);
    }
  return high;
}

}  // namespace

std::optional<Problem> scaled_down(const Problem& problem, std::int64_t max_points, base::Diagnostics& diags) {
  const auto e = build(problem, diags);
  if (!e) return std::nullopt;
  Problem small = problem;
  const auto greatest = [&] {
    return std::max_element(small.sizes.begin(), small.sizes.end(),
                            [](const GivenSize& a, const GivenSize& b) { return a.size < b.size; });
  };
  while (!small.sizes.empty() && greatest()->size > 1 && max_points_of(*e, small) > max_points)
    greatest()->size = (greatest()->size + 1) / 2;
  for (GivenShape& s : small.shapes) {
    const auto tensor = find_tensor(*e, s.tensor);
    if (!tensor) continue;
    for (std::size_t d = 0; d < s.shape.size(); ++d)
      s.shape[d] -= highest_read(*e, problem, *tensor, d) - highest_read(*e, small, *tensor, d);
  }
  return small;
}

}  // namespace tilescope::expr

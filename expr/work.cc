// SPDX-License-Identifier: Apache-2.0
#include "expr/work.h"

#include <algorithm>
#include <vector>

#include "expr/live_terms.h"
#include "expr/reference.h"

namespace tilescope::expr {
namespace {

double points_of(const Stage& s) {
  double points = 1;
  for (const Axis& a : s.axes) points *= static_cast<double>(a.size);
  return points;
}

double operations_of(const Stage& s) {
  const auto of_body = std::count_if(s.body.begin(), s.body.end(), [](const Node& n) { return n.computes(); });
  return points_of(s) * static_cast<double>(of_body + (s.reducer == Reducer::kNone ? 0 : 1));
}

// Points of the axes on which the coordinates of the read depend.
double points_of(const Stage& s, const Read& read) {
  std::vector<bool> used(s.axes.size(), false);
  const auto use = [&](const Read& r) {
    for (const Coordinate& c : r.at)
      for (const Term& t : c.terms) used[static_cast<std::size_t>(t.axis)] = true;
  };
  use(read);
  if (const auto d = read.gathered_dim()) use(s.reads[static_cast<std::size_t>(read.at[*d].table)]);
  double points = 1;
  for (std::size_t a = 0; a < used.size(); ++a)
    if (used[a]) points *= static_cast<double>(s.axes[a].size);
  return points;
}

}  // namespace

double points_of(const Expression& e) {
  double sum = 0;
  for (const Stage& s : e.stages) sum += points_of(s);
  return sum;
}

double operations_of(const Expression& e) {
  double sum = 0;
  for (const Stage& s : e.stages) sum += operations_of(s);
  return sum;
}

double needed_operations_of(const Expression& e) {
  const auto needed = needed_terms(e);
  double sum = 0;
  for (std::size_t s = 0; s < e.stages.size(); ++s)
    sum += operations_of(e.stages[s]) * least_share(needed[s], e.stages[s]);
  return sum;
}

double touched_elements(const Expression& e, int tensor) {
  double touched = 0;
  for (const Stage& s : e.stages) {
    if (s.output == tensor) return static_cast<double>(e.tensors[static_cast<std::size_t>(tensor)].elements());
    for (const Read& r : s.reads)
      if (r.tensor == tensor) touched += points_of(s, r);
  }
  return std::min(touched, static_cast<double>(e.tensors[static_cast<std::size_t>(tensor)].elements()));
}

ArithmeticDtypes arithmetic_dtypes(const Expression& one_stage) {
  const Stage& stage = one_stage.stages.front();
  const bool moves = stage.reducer == Reducer::kNone && stage.body.size() == 1;
  if (moves || base::is_integer(one_stage.dtype) || numbers_of(one_stage, stage) == Numbers::kReal)
    return {one_stage.dtype, one_stage.accumulate};
  return {base::Dtype::kI32, base::Dtype::kI32};
}

}  // namespace tilescope::expr

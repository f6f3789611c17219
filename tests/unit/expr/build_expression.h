// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expressions and their mistakes from texts as they stand on the command line.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"
#include "expr/parse_args.h"

namespace tilescope::tests {

struct Built {
  std::optional<expr::Expression> expression;
  std::vector<std::string> errors;
};

inline Built build(std::string_view op, std::string_view size = {}, std::string_view shape = {},
                   base::Dtype dtype = base::Dtype::kF32, std::optional<base::Dtype> accumulate = {}) {
  base::Diagnostics diags;
  const auto begin = [&](const char* name) { return base::Position{diags.add_source(name), 1, 1}; };
  expr::Problem problem;
  problem.text = op;
  problem.at = begin("--op");
  problem.dtypes.arithmetic = dtype;
  problem.dtypes.accumulate = accumulate;
  const base::Position sizes_at = begin("--size");
  const base::Position shapes_at = begin("--shape");
  if (!size.empty()) problem.sizes = expr::parse_sizes(size, sizes_at, diags).value_or(std::vector<expr::GivenSize>{});
  if (!shape.empty())
    problem.shapes = expr::parse_shapes(shape, shapes_at, diags).value_or(std::vector<expr::GivenShape>{});
  Built out;
  if (diags.ok())
    out.expression = expr::build(problem, diags);
  else
    expr::parse(problem.text, problem.at, diags);  // its mistakes are reported beside those of the arguments
  out.errors = diags.formatted_errors();
  return out;
}

// The shape of a tensor by its name.
inline std::vector<std::int64_t> shape_of(const expr::Expression& e, std::string_view name) {
  for (const expr::Tensor& t : e.tensors)
    if (t.name == name) return t.shape;
  return {};
}

// The size of an axis of a stage by its name, or 0.
inline std::int64_t size_of_axis(const expr::Stage& stage, std::string_view name) {
  for (const expr::Axis& a : stage.axes)
    if (a.name == name) return a.size;
  return 0;
}

}  // namespace tilescope::tests

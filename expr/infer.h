// SPDX-License-Identifier: Apache-2.0
#pragma once
// From parsed stages, given sizes and given shapes to an Expression with every range and shape.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/dtype.h"
#include "expr/expression.h"
#include "expr/parse.h"

namespace tilescope::expr {

// What is given beside the text; each figure with the place that messages show.
struct GivenSize {
  std::string axis;
  std::int64_t size = 0;
  base::Position at;
};
struct GivenShape {
  std::string tensor;
  std::vector<std::int64_t> shape;
  base::Position at;
};

struct GivenDtype {
  std::string tensor;
  base::Dtype dtype{};
  base::Position at;
};

struct Problem {
  std::string text;
  base::Position at;
  std::vector<GivenSize> sizes;
  std::vector<GivenShape> shapes;
  std::vector<GivenDtype> dtypes;  // of inputs whose elements are sums of an earlier expression, of its accumulator
  base::Dtype dtype = base::Dtype::kF32;
  std::optional<base::Dtype> accumulate;  // default_accumulator(dtype) where absent
  bool of_suite = false;                  // sizes are given by a file's key `sizes`, else by --size
};

// Ranges: a given size; else the extent of a dimension that the bare axis reads, of a given shape or an earlier stage's
// output; else, for an axis of an intermediate output, what later stages read of it. Shapes of inputs: as given, else
// the highest coordinate read plus one. An axis of one name has one range within its stage only: stages may use a name
// twice with different ranges unless --size gives it. Every mistake (no range, ranks that differ, a size that no axis
// has, more than 64 bits of elements or operations, an input shape that no read can touch) goes to `diags`.
std::optional<Expression> infer(const Problem& problem, const std::vector<ParsedStage>& stages,
                                base::Diagnostics& diags);

// parse, then infer.
std::optional<Expression> build(const Problem& problem, base::Diagnostics& diags);

// One stage of an expression as an expression of its own, the tensors it reads being inputs: what a kernel computes.
Expression single_stage(const Expression& whole, std::size_t stage);

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds an Expression with all ranges and shapes from parsed stages, given sizes and given shapes.

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

// Sizes, shapes and dtypes given in addition to the text, each with the position that messages show.
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
  std::optional<IndexDistribution> indices = {};  // of a table, where given
};

// The dtype of a table that no dtype is given for, whatever the arithmetic's is.
inline constexpr base::Dtype kTableDtype = base::Dtype::kI32;

// The dtypes of an operator: `bf16,A=i8,accumulate=f32`, with the distributions of indices: `T=i32:sorted`.
struct GivenDtypes {
  // The arithmetic's dtype, which tensors without a given one have too, but for tables. Where absent, the widest given
  // dtype of an input that is no table (a float is wider than an integer), or f32.
  std::optional<base::Dtype> arithmetic;
  std::optional<base::Dtype> accumulate;  // default_accumulator(arithmetic) where absent
  std::vector<GivenDtype> tensors;        // each once
};

struct Problem {
  std::string text;
  base::Position at;
  std::vector<GivenSize> sizes;
  std::vector<GivenShape> shapes;
  GivenDtypes dtypes;
  bool of_suite = false;    // from a suite file: messages then suggest its key `sizes`, else --size
  bool of_network = false;  // from the description of a network: they suggest ` for i=...`
};

// The range of an axis is, in this order: its given size, or its extent in the output's given shape; the extent of a
// dimension that the axis alone indexes, in a given shape or an earlier stage's output; for an axis of an intermediate
// output, the extent that later stages read. The shape of an input is the given one, else the highest coordinate read
// plus one. An axis name has one range within its stage only: two stages may use a name with different ranges unless
// --size gives it. The dtype of a result that is not named is that of the arithmetic; of integer arithmetic it is the
// accumulator's where the stage sums, or reads what has that dtype; that of a table is kTableDtype. Every
// mistake (no range, ranks that differ, a size for an unknown axis, elements or operations beyond 64 bits, an input
// shape that every read misses) goes to `diags`; then the result is nullopt.
std::optional<Expression> infer(const Problem& problem, const std::vector<ParsedStage>& stages,
                                base::Diagnostics& diags);

// The dtype that infer gives the result of a stage whose dtype is not given; the dtypes of its inputs are known.
base::Dtype default_result(const Expression& e, const Stage& stage);

// Tensors, as indices, whose dtypes, or distributions of indices, infer would not find by itself.
std::vector<int> tensors_of_given_dtypes(const Expression& e);

// A tensor's dtype as parse_dtypes reads it, with the distribution of a table that is not uniform: `i32:sorted`.
std::string dtype_text(const Tensor& t);

// The dtypes of an expression as parse_dtypes reads them: `bf16,A=i8`.
std::string dtypes_text(const Expression& e);

// All that an expression computes, in one line, so that equal texts compute the same: of each stage the notation, sizes
// of axes, shapes and dtypes.
std::string text_of(const Expression& e);

// Calls parse, then infer.
std::optional<Expression> build(const Problem& problem, base::Diagnostics& diags);

// One stage of an expression, as an expression whose inputs are the tensors that the stage reads.
Expression single_stage(const Expression& whole, std::size_t stage);

}  // namespace tilescope::expr

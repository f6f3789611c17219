// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses index notation: `O[n,f,y,x] +=! I[n,c,y*2+r-1,x*2+s-1] * W[f,c,r,s]`, stages joined by `;`. Every syntax error
// is reported with its column; expr/infer.h checks the meaning (ranges, shapes, ranks).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/expression.h"

namespace tilescope::expr {

// The most bytes of a text that the parser accepts.
inline constexpr std::size_t kMaxText = std::size_t{16} << 10;

// A coordinate as written, with axes by name.
struct NamedTerm {
  std::string axis;
  std::int64_t coefficient = 1;
  base::Position at;
};
struct NamedCoordinate {
  std::vector<NamedTerm> terms;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;
  int table = -1;  // as Coordinate::table, of ParsedStage::reads
};
struct NamedRead {
  std::string tensor;
  std::vector<NamedCoordinate> coordinates;
  base::Position at;
  std::optional<double> outside;  // its value outside the tensor, where one is given
};
struct NamedScalar {
  std::string name;
  base::Position at;
};

struct ParsedStage {
  std::string text;
  std::string output;
  base::Position output_at;
  std::vector<NamedScalar> output_axes;
  Reducer reducer = Reducer::kNone;
  std::vector<NamedRead> reads;
  std::vector<NamedScalar> scalars;       // kScalar nodes index this
  std::vector<Node> body;                 // kRead nodes index `reads`
  std::vector<base::Position> number_at;  // of the kNumber nodes, in their order
};

// Parses `text`, whose first character is at `at`. Returns nullopt after errors.
std::optional<std::vector<ParsedStage>> parse(std::string_view text, base::Position at, base::Diagnostics& diags);

// The number that is greater than all others.
inline constexpr std::string_view kInfinity = "inf";

// The spelling of a reducer (`+=!`) and of a function (`exp`); of a comparison or a logical operator its sign (`<=`).
std::string_view spelling(Reducer r);
std::string_view spelling(Function f);
// All of them, in the order of their enumerators.
std::vector<std::string_view> reducer_spellings();
std::vector<std::string_view> function_spellings();
// Number of operands: 1 to 3.
int arity(Function f);
// Whether chips compute it by special function units or polynomials and round the value. The others choose, compare or
// take whole numbers, exactly, in an instruction or two.
bool is_approximated(Function f);

}  // namespace tilescope::expr

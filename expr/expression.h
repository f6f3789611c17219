// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor expression with all ranges and shapes known, as expr/parse.h and expr/infer.h build it from index notation
// such as `C[m,n] +=! A[m,k] * B[k,n]`. Axes, tensors and scalars are small integers in memory; only documents use
// names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/fixed_vector.h"
#include "expr/index_draw.h"

namespace tilescope::expr {

// Limits of one stage; the parser refuses larger ones.
inline constexpr std::size_t kMaxAxes = 12;
inline constexpr std::size_t kMaxRank = 12;
inline constexpr std::size_t kMaxReads = 16;
inline constexpr std::size_t kMaxStages = 32;

enum class Reducer : std::uint8_t { kNone, kSum, kMax, kMin, kProduct, kMean };

// One loop. Spatial axes index the output; the others are reduced.
struct Axis {
  std::string name;
  std::int64_t size = 0;
  bool reduction = false;

  bool operator==(const Axis&) const = default;
};

// coefficient * axis
struct Term {
  int axis = 0;
  std::int64_t coefficient = 1;

  bool operator==(const Term&) const = default;
};

// One coordinate of a read: the sum of its terms and the offset. For `y/2` that sum is divided by `divisor` (rounding
// down), for `y%16` taken modulo `modulus`. Only a plain sum is affine. In `E[T[i],j]` the first coordinate is the
// value of another read of the stage, `table`, and has no terms; that read's own coordinates are of the other kinds.
struct Coordinate {
  base::FixedVector<Term, kMaxAxes> terms;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;  // 0: none
  int table = -1;            // position in Stage::reads, before that of the read that has the coordinate; -1: none

  bool gathered() const { return table >= 0; }
  bool affine() const { return divisor == 1 && modulus == 0 && !gathered(); }
  // The axis where the coordinate is a single axis and nothing else, or nullopt.
  std::optional<int> bare_axis() const {
    const bool bare = affine() && offset == 0 && terms.size() == 1 && terms[0].coefficient == 1;
    return bare ? std::optional(terms[0].axis) : std::nullopt;
  }
  bool operator==(const Coordinate&) const = default;
};

// One read of a tensor in a stage's body. Reads outside the tensor are zero, and so are those whose table is read
// outside it; an index that a table holds has to be inside.
struct Read {
  int tensor = 0;
  std::vector<Coordinate> at;

  // The dimension whose coordinate is read from a table, at most one, or nullopt.
  std::optional<std::size_t> gathered_dim() const {
    for (std::size_t d = 0; d < at.size(); ++d)
      if (at[d].gathered()) return d;
    return std::nullopt;
  }
  bool operator==(const Read&) const = default;
};

enum class NodeKind : std::uint8_t {
  kNumber,
  kScalar,
  kRead,
  kIndex,
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kCall,
};

// Comparisons and logical operators give 1 or 0; what is not 0 is true. kRound takes ties to the even number. kSelect
// gives its second operand where the first is true, else its third; it has both computed. kMod is the remainder of a
// division rounded down.
enum class Function : std::uint8_t {
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kTanh,
  kSigmoid,
  kErf,
  kRelu,
  kAbs,
  kMax,
  kMin,
  kPow,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kSelect,
  kMod,
};

// One node of a stage's body, in post order: operands precede their operator, the root is last.
struct Node {
  NodeKind kind{};
  double number = 0;    // kNumber
  int index = 0;        // kScalar: of Expression::scalars; kRead: of Stage::reads; kIndex: of Stage::indices
  Function function{};  // kCall
  int left = -1, right = -1, third = -1;  // operands, as indices of nodes

  // Whether it is computed from others: no number, scalar, read or index.
  bool computes() const { return kind >= NodeKind::kNegate; }

  bool operator==(const Node&) const = default;
};

// Whether the node is an index whose sign alone matters: the next one but one compares it with 0.
inline bool is_compared_index(const std::vector<Node>& body, std::size_t node) {
  if (node + 2 >= body.size() || body[node].kind != NodeKind::kIndex) return false;
  const Node &zero = body[node + 1], &by = body[node + 2];
  return zero.kind == NodeKind::kNumber && zero.number == 0 && by.kind == NodeKind::kCall &&
         by.function >= Function::kLess && by.function <= Function::kNotEqual && by.left == static_cast<int>(node) &&
         by.right == static_cast<int>(node) + 1;
}

// Calls visit with each operand of a node, which it may change.
template <class N, class Visit>
void for_each_operand(N& node, const Visit& visit) {
  for (auto* operand : {&node.left, &node.right, &node.third})
    if (*operand >= 0) visit(*operand);
}

// One statement: output[spatial axes] (reducer)= body.
struct Stage {
  std::string text;  // as the user wrote it, white space normalised; programs print it
  int output = 0;    // tensor
  Reducer reducer = Reducer::kNone;
  std::vector<Axis> axes;  // spatial in the order of the output, then reduced in the order of first use
  std::vector<Read> reads;
  std::vector<Coordinate> indices;  // values of the body that are integers over the axes, as `i - j` in `i - j < 3`
  std::vector<Node> body;

  std::size_t spatial_count() const {
    std::size_t n = 0;
    while (n < axes.size() && !axes[n].reduction) ++n;
    return n;
  }
  // Whether a coordinate is read from a table.
  bool gathers() const {
    for (const Read& r : reads)
      if (r.gathered_dim()) return true;
    return false;
  }
  // Whether the read gives a coordinate of another one; the body may read it too.
  bool is_table(std::size_t read) const {
    for (const Read& r : reads)
      for (const Coordinate& c : r.at)
        if (c.table == static_cast<int>(read)) return true;
    return false;
  }

  bool operator==(const Stage&) const = default;
};

inline constexpr int kInput = -1;

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major, innermost last
  base::Dtype dtype{};
  int producer = kInput;           // stage, or kInput
  IndexDistribution indices = {};  // of its values, where it is a table

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }

  bool operator==(const Tensor&) const = default;
};

// One or several stages in order; a later stage may read the output of an earlier one. The bytes of each tensor and the
// operations of each stage fit 64 bits: inference refuses larger ones.
struct Expression {
  std::vector<Tensor> tensors;
  std::vector<std::string> scalars;
  std::vector<Stage> stages;
  base::Dtype dtype{};
  base::Dtype accumulate{};
  std::vector<std::string> notes;  // approximations, such as a read that is not affine and takes the full extent

  bool operator==(const Expression&) const = default;
};

}  // namespace tilescope::expr

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

namespace tilescope::expr {

// Limits of one stage; the parser refuses larger ones.
inline constexpr std::size_t kMaxAxes = 12;
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxReads = 16;
inline constexpr std::size_t kMaxStages = 32;

enum class Reducer : std::uint8_t { kNone, kSum, kMax, kMin, kMean };

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
// down), for `y%16` taken modulo `modulus`. Only a plain sum is affine.
struct Coordinate {
  base::FixedVector<Term, kMaxAxes> terms;
  std::int64_t offset = 0;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;  // 0: none

  bool affine() const { return divisor == 1 && modulus == 0; }
  // The axis where the coordinate is a single axis and nothing else, or nullopt.
  std::optional<int> bare_axis() const {
    const bool bare = affine() && offset == 0 && terms.size() == 1 && terms[0].coefficient == 1;
    return bare ? std::optional(terms[0].axis) : std::nullopt;
  }
  bool operator==(const Coordinate&) const = default;
};

// One read of a tensor in a stage's body. Reads outside the tensor are zero.
struct Read {
  int tensor = 0;
  std::vector<Coordinate> at;

  bool operator==(const Read&) const = default;
};

enum class NodeKind : std::uint8_t { kNumber, kScalar, kRead, kNegate, kAdd, kSubtract, kMultiply, kDivide, kCall };

enum class Function : std::uint8_t { kExp, kLog, kSqrt, kRsqrt, kTanh, kSigmoid, kErf, kRelu, kAbs, kMax, kMin };

// One node of a stage's body, in post order: operands precede their operator, the root is last.
struct Node {
  NodeKind kind{};
  double number = 0;          // kNumber
  int index = 0;              // kScalar: of Expression::scalars; kRead: of Stage::reads
  Function function{};        // kCall
  int left = -1, right = -1;  // operands, as indices of nodes

  bool operator==(const Node&) const = default;
};

// One statement: output[spatial axes] (reducer)= body.
struct Stage {
  std::string text;  // as the user wrote it, white space normalised; programs print it
  int output = 0;    // tensor
  Reducer reducer = Reducer::kNone;
  std::vector<Axis> axes;  // spatial in the order of the output, then reduced in the order of first use
  std::vector<Read> reads;
  std::vector<Node> body;

  std::size_t spatial_count() const {
    std::size_t n = 0;
    while (n < axes.size() && !axes[n].reduction) ++n;
    return n;
  }

  bool operator==(const Stage&) const = default;
};

inline constexpr int kInput = -1;

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  // row-major, innermost last
  base::Dtype dtype{};
  int producer = kInput;  // stage, or kInput

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

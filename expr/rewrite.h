// SPDX-License-Identifier: Apache-2.0
#pragma once
// Algebra over expressions of several stages: other stages that compute the same outputs.
//
// A rule returns the new expression, or nothing and one sentence in `refusal`. What it returns is what inference would
// make of its text: tensors that no stage reads or writes are gone, tensors, reads, axes and scalars are numbered in
// the order of their use, every stage's `text` is printed anew, and axes and tensors keep their names, ranges, shapes
// and dtypes. Scalars may have other numbers than before; callers find them by name. A rule refuses what the parser
// and inference would: more than kMaxReads reads, kMaxStages stages or kMaxText bytes, coordinates beyond 64 bits, an
// input that every read misses.
//
// Values are equal but for rounding: intermediates that appear or disappear are rounded when they are stored, and sums
// may be taken in another order. Where an intermediate is narrower than f32 (tf32, f16, bf16, f8), this is more than
// the last bits of a result; the rules apply all the same, as fused kernels do, and say so in Expression::notes.
//
// Ignores: infinities and not-a-number, which 0/0 in a factor can make in another place than before.

#include <cstddef>
#include <optional>
#include <string>

#include "expr/expression.h"

namespace tilescope::expr {

// Puts the body of a stage in place of every read of its output, and drops the stage.
// Condition: the stage is elementwise, a later stage reads its output, and every such read lies inside the output for
// all values of the reader's axes, has coordinates that compose to a Coordinate, and leaves no reduced axis without a
// read; of integers, stage and readers are computed in 32 bits that wrap before and after.
std::optional<Expression> inlined(const Expression& e, std::size_t stage, std::string& refusal);

// Takes the factors of a sum's body that are the same for all its steps out of the sum: `O[m,v] +=! E[m,n] / L[m] *
// V[n,v]` becomes `O_sum[m,v] +=! E[m,n] * V[n,v]; O[m,v] = O_sum[m,v] / L[m]`; a taken name is followed by O_sum2.
// Condition: the stage reduces at least one axis by a sum or a mean into a float, and its body is a product or quotient
// with a factor whose reads use no reduced axis.
std::optional<Expression> factor_out(const Expression& e, std::size_t stage, std::string& refusal);

// Takes out of sums what elementwise stages in front of them bring in, one after the other: inlines such a stage into
// its readers and applies factor_out to a sum among them, so that `P[m,n] = E[m,n] / L[m]; O[m,v] +=! P[m,n] * V[n,v]`
// reads L behind the sum alone, which can then be carried on (expr/online_reduction.h). Condition: that of inlined and
// of factor_out, and the factor reads what an earlier stage writes. Nothing where that holds nowhere.
std::optional<Expression> with_divisions_sunk(const Expression& e);

// Inlines what can be inlined and costs little, the first stage first, until no stage is left that qualifies.
// Condition: the body is a single value, or each read of the output uses every axis of its reader that is longer than 1
// (an operand of a matrix product does not: it would be computed once per row), and no reader evaluates a division or
// special function (exp, log, sqrt, rsqrt, tanh, sigmoid, erf) of the body more often than the stage does.
Expression with_everything_inlined(Expression e);

}  // namespace tilescope::expr

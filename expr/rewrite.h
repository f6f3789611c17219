// SPDX-License-Identifier: Apache-2.0
#pragma once
// Algebraic rewriting of multi-stage expressions into other stages that compute the same outputs.
//
// A rule returns the new expression, or nullopt and one sentence in `refusal`. The result is what inference would make
// of its text: unused tensors are removed; tensors, reads, axes and scalars are numbered in the order of their use; the
// `text` of every stage is printed anew; axes and tensors keep their names, ranges, shapes and dtypes. Scalars may have
// other numbers than before; callers find them by name. A rule refuses what the parser and inference would refuse: more
// than kMaxReads reads, kMaxStages stages or kMaxText bytes, coordinates beyond 64 bits, an input that every read
// misses.
//
// Values are equal except for rounding: intermediates that appear or disappear are rounded when they are stored, and
// sums may be taken in another order. Where an intermediate is narrower than f32 (tf32, f16, bf16, f8), the difference
// exceeds the last bits of a result. The rules apply all the same, as fused kernels do, and record it in
// Expression::notes.
//
// Infinities and not-a-number are ignored: 0/0 in a factor can produce them in another place than before.

#include <cstddef>
#include <optional>
#include <string>

#include "expr/expression.h"

namespace tilescope::expr {

// Replaces every read of a stage's output by the stage's body, and drops the stage.
// Condition: the stage is elementwise, a later stage reads its output, and every such read lies inside the output for
// all values of the reader's axes, has coordinates that compose to a Coordinate, and leaves no reduced axis without a
// read. For integers, stage and readers are computed in wrapping 32-bit arithmetic before and after.
std::optional<Expression> inlined(const Expression& e, std::size_t stage, std::string& refusal);

// Moves the factors of a sum's body that are the same for all steps out of the sum: `O[m,v] +=! E[m,n] / L[m] * V[n,v]`
// becomes `O_sum[m,v] +=! E[m,n] * V[n,v]; O[m,v] = O_sum[m,v] / L[m]`. Where that name is taken, O_sum2 is used.
// Condition: the stage reduces at least one axis by a sum or a mean into a float, and its body is a product or quotient
// with a factor whose reads use no reduced axis.
std::optional<Expression> factor_out(const Expression& e, std::size_t stage, std::string& refusal);

// Moves factors that come from preceding elementwise stages out of sums, one after the other: inlines such a stage into
// its readers and applies factor_out to a sum among them. In `P[m,n] = E[m,n] / L[m]; O[m,v] +=! P[m,n] * V[n,v]`, L is
// then read after the sum, which allows an online reduction (expr/online_reduction.h). Condition: that of inlined and
// of factor_out, and the factor reads the output of an earlier stage. Returns nullopt where it holds nowhere.
std::optional<Expression> with_divisions_sunk(const Expression& e);

// Inlines the stages that can be inlined at little cost, the first stage first, until none is left that qualifies.
// Condition: the body is a single value, or each read of the output uses every axis of its reader that is longer than 1
// (an operand of a matrix product does not: it would be computed once per row), and no reader evaluates a division or
// special function (exp, log, sqrt, rsqrt, tanh, sigmoid, erf) of the body more often than the stage does.
Expression with_everything_inlined(Expression e);

// Inlines the stages that only move elements, a transposed tensor or a slice, where they can be inlined.
Expression with_moves_inlined(Expression e);

// Lets stages read a tensor in place of a copy that differs from it in dimensions of one element alone, and drops the
// copy: `V[n,f] = T[n,0,f]; Y[n,f] = V[n,f] * S[f]` becomes `Y[n,f] = T[n,f] * S[f]`. Such dimensions of computed
// tensors go, and with them the axes that index them; every tensor has the same elements in the same order. Where
// nothing can be dropped, the expression stays.
Expression without_copies(const Expression& e);

}  // namespace tilescope::expr

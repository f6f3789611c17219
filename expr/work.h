// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much an expression computes.

#include "base/dtype.h"
#include "expr/expression.h"

namespace tilescope::expr {

// Number of iterations of the plain loops of all stages.
double points_of(const Expression& e);

// Arithmetic operations of all points of all stages, a multiply-add counting as two and a function as one.
double operations_of(const Expression& e);

// At least as many of them does every program compute: those on which a result depends (live_terms.h, needed_terms).
double needed_operations_of(const Expression& e);

// Elements of a tensor, by its number, that all stages read or write, each once: all of them, or as many as the points
// at which it is read, where these are fewer. Windows that overlap and rows that a table names twice count twice.
double touched_elements(const Expression& e, int tensor);

// The dtypes of the instruction that computes a single stage: those of the expression, or i32 where the stage computes
// integers alone though the arithmetic of others is real, such as indices of a table. What only moves is as the others.
struct ArithmeticDtypes {
  base::Dtype dtype, accumulate;
};
ArithmeticDtypes arithmetic_dtypes(const Expression& one_stage);

}  // namespace tilescope::expr

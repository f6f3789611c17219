// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much an expression computes.

#include "expr/expression.h"

namespace tilescope::expr {

// Number of iterations of the plain loops of all stages.
double points_of(const Expression& e);

// Arithmetic operations of all points of all stages, a multiply-add counting as two and a function as one.
double operations_of(const Expression& e);

// Elements of a tensor, by its number, that all stages read or write, each once: all of them, or as many as the points
// at which it is read, where these are fewer. Windows that overlap and rows that a table names twice count twice.
double touched_elements(const Expression& e, int tensor);

}  // namespace tilescope::expr

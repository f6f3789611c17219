// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of an expression, and what they compute whatever their names.

#include <cstddef>
#include <string>

#include "expr/expression.h"

namespace tilescope::expr {

// The stages first .. last as an expression of their own. Its inputs are the tensors that they read and none of them
// writes.
Expression stages_of(const Expression& whole, std::size_t first, std::size_t last);

// The expression with other names, printed anew: axes a0, a1, ..., tensors t0, ..., scalars s0, ..., numbered in the
// order of their use. Axes of several stages that have one name keep one name. Expressions that differ in names alone
// become equal.
Expression numbered(Expression e);

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a kernel's values are from plain loops, and how far rounding may take them; for the .cc files of experiments/
// and for tests.

#include "experiments/verify/value_errors.h"
#include "expr/reference.h"
#include "tile/program.h"

namespace tilescope::experiments {

// What rounding may come to in an output of the program, whose inputs are those of lower/expected_values.h: zero where
// every order of the operations gives the same. docs/kernel.md says where the bounds come from.
ValueErrors allowed_errors(const tile::RProgram& p);

// Of one output of this dtype. Infinite where their numbers differ, and where one value is finite and the other is not;
// infinities of one sign are equal, and so are two values that are no number.
ValueErrors errors_of(base::Dtype dtype, const expr::Values& values, const expr::Values& expected);

// The greatest |difference| of one element that stays within what is allowed, of an output of these values.
double tolerance_of(base::Dtype dtype, const ValueErrors& allowed, const expr::Values& expected);

}  // namespace tilescope::experiments

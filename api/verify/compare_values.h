// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far a kernel's values are from plain loops, and how far rounding may take them; for the .cc files of experiments/
// and for tests.

#include "api/verify/value_errors.h"
#include "expr/reference.h"
#include "lower/expected_values.h"
#include "targets/verifier.h"
#include "tile/program.h"

namespace tilescope::api {

// What rounding may come to in an output of the program, whose inputs are those of lower/expected_values.h: zero where
// every order of the operations gives the same. docs/kernel.md says where the bounds come from.
ValueErrors allowed_errors(const tile::RProgram& p);

// Of one output of this dtype. Infinite where their numbers differ, and where one value is finite and the other is not;
// infinities of one sign are equal, and so are two values that are no number.
ValueErrors errors_of(base::Dtype dtype, const expr::Values& values, const expr::Values& expected);

// The greatest |difference| of one element that stays within what is allowed, of an output of these values.
double tolerance_of(base::Dtype dtype, const ValueErrors& allowed, const expr::Values& expected);

// Of all outputs that a way to run the program leaves.
ValueErrors errors_of_outputs(const tile::RProgram& p, const lower::NamedValues& outputs,
                              const lower::NamedValues& expected);

// Of some elements of outputs, each compared with a plain loop over what the run itself has for its stage to read:
// `inputs` of the program and outputs of earlier stages.
ValueErrors errors_of_elements(const tile::RProgram& p, const lower::NamedValues& outputs,
                               const lower::NamedValues& inputs, const targets::Elements& elements);

}  // namespace tilescope::api

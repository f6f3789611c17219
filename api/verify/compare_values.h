// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors of a kernel's values against plain loops, and the errors that rounding may cause; for the .cc files of
// experiments/ and for tests.

#include "api/verify/value_errors.h"
#include "expr/reference.h"
#include "lower/expected_values.h"
#include "targets/verifier.h"
#include "tile/program.h"

namespace tilescope::api {

// The errors that rounding may cause in an output of the program, with the inputs of lower/expected_values.h; zero if
// every order of the operations gives the same result. docs/kernel.md says where the bounds come from.
ValueErrors allowed_errors(const tile::RProgram& p);

// The errors of one output of this dtype. They are infinite if the numbers of values differ, or if one value is finite
// and the other is not. Infinities of one sign are equal, and so are two NaNs.
ValueErrors errors_of(base::Dtype dtype, const expr::Values& values, const expr::Values& expected);

// The greatest |difference| of one element that is within the allowed errors, for an output with these expected values.
double tolerance_of(base::Dtype dtype, const ValueErrors& allowed, const expr::Values& expected);

// The worst errors over all outputs of a run.
ValueErrors errors_of_outputs(const tile::RProgram& p, const lower::NamedValues& outputs,
                              const lower::NamedValues& expected);

// The worst errors over some elements of the outputs. Each is compared with a plain loop over what the run itself has
// as inputs of its stage: `inputs` of the program and outputs of earlier stages.
ValueErrors errors_of_elements(const tile::RProgram& p, const lower::NamedValues& outputs,
                               const lower::NamedValues& inputs, const targets::Elements& elements);

}  // namespace tilescope::api

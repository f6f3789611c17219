// SPDX-License-Identifier: Apache-2.0
#pragma once
// What kind of operator a stage is; for api/ and experiments/ alone.

#include <string>

#include "expr/expression.h"
#include "tile/program.h"

namespace tilescope::api {

// Its name as of arch::OperatorKind.
std::string kind_of(const expr::Expression& one_stage);

// The same of an expression that may have several stages: "several stages" where it has.
std::string kind_of_whole(const expr::Expression& e);

// The same of a program, and its operations.
std::string kind_of_whole(const tile::RProgram& p);
double operations_of(const tile::RProgram& p);

// Arithmetic operations of all points of all stages, a multiply-add counting as two and a function as one.
double operations_of(const expr::Expression& e);

}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kind of operator of a stage; for api/ and experiments/ only.

#include <string>

#include "expr/expression.h"
#include "tile/program.h"

namespace tilescope::api {

// The name of its arch::OperatorKind.
std::string kind_of(const expr::Expression& one_stage);

// Likewise for an expression; "several stages" if it has more than one.
std::string kind_of_whole(const expr::Expression& e);

// Likewise for a program, and its number of operations (expr/work.h).
std::string kind_of_whole(const tile::RProgram& p);
double operations_of(const tile::RProgram& p);

}  // namespace tilescope::api

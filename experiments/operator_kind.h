#pragma once
// What kind of operator a stage is; for the .cc files of experiments/ alone.

#include <string>

#include "expr/expression.h"

namespace tilescope::experiments {

// Its name as of arch::OperatorKind.
std::string kind_of(const expr::Expression& one_stage);

}  // namespace tilescope::experiments

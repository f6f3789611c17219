#pragma once
// What kind of operator a stage is; for the .cc files of experiments/ alone.

#include <string>

#include "expr/expression.h"

namespace tilescope::experiments {

// In the words of the suites, convolutions with and without a window apart: matmul, conv 1x1, conv KxK, depthwise,
// pool, reduction, elementwise, or other.
std::string kind_of(const expr::Expression& one_stage);

}  // namespace tilescope::experiments

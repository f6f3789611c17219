// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers over the axes among the values of a body.

#include <optional>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// Makes one index of each part of the body that adds, subtracts and scales axes and whole numbers alone, and of each
// comparison of two such parts the comparison of their difference with 0. Both are exact then, whatever floats the
// chip computes the body in.
void take_indices_together(Stage& stage);

// Gives reads a value outside their tensors, by read: where a coordinate can leave its tensor, the body chooses between
// the read and that value by comparisons of indices.
void choose_outside(const Expression& e, const std::vector<std::optional<double>>& outside, Stage& stage);

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program's kernels have to compute: its stages by plain loops, on inputs that are drawn.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "expr/reference.h"
#include "lower/kernel.h"
#include "tile/program.h"

namespace tilescope::lower {

// Values of tensors by name.
using NamedValues = std::map<std::string, expr::Values>;

// What every scalar of a program is taken for.
inline constexpr double kScalar = 0.5;

// Draws the inputs that `values` lacks: quarters from -1 to 1 (whole numbers from -4 to 4 of integers), of which sums
// and products are exact in f32, whatever their order.
void add_inputs(const tile::RProgram& p, std::mt19937& random, NamedValues& values);

// Iterations of a plain loop: the time of reference values.
double points_of(const expr::Expression& e);

// Draws the inputs and runs the stages one after the other by expr/reference.h. Time is the work of all stages.
void add_expected_values(const tile::RProgram& p, std::mt19937& random, NamedValues& values);

// The module's globals as its readers take them: inputs filled, the rest empty.
std::vector<expr::Values> globals_of(const Module& m, const NamedValues& values);

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values that a program's kernels have to compute: its stages as plain loops, on random inputs.

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

// The value of every scalar of a program.
inline constexpr double kScalar = 0.5;

// Draws the inputs that `values` lacks: quarters from -1 to 1; for integer dtypes whole numbers from -4 to 4, or from 0
// to 8 for u8. Their sums and products are exact in f32, whatever their order. Tables hold indices (expr/tables.h).
void add_inputs(const tile::RProgram& p, std::mt19937& random, NamedValues& values);

// Draws the inputs that `values` lacks, runs the stages one after the other by expr/reference.h, and adds their
// results. The time is that of the work of all stages.
void add_expected_values(const tile::RProgram& p, std::mt19937& random, NamedValues& values);

// The values of the module's globals as its readers take them: inputs filled, the rest empty.
std::vector<expr::Values> globals_of(const Module& m, const NamedValues& values);

}  // namespace tilescope::lower

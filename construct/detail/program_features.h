// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as numbers to learn from: sizes, counts and choices that can be read off it. Nothing of the model, which
// would teach a search what construction knows.

#include <vector>

#include "tile/program.h"

namespace tilescope::construct {

using Features = std::vector<float>;

// Logarithms of amounts, choices as they are; as many for every program of a stage, however its loops are collapsed.
Features features_of(const tile::StageProgram& p);

}  // namespace tilescope::construct

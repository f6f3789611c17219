// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of a block point by point, in the numbers of expr/reference.h: of any body.

#include <vector>

#include "backends/ipu_sim/detail/block.h"
#include "backends/ipu_sim/detail/cores.h"

namespace tilescope::ipu_sim {

// `scalars` of the stage's expression. Returns the points that it computed.
std::int64_t interpret(const Block& block, const std::vector<double>& scalars, Cores& cores);

}  // namespace tilescope::ipu_sim

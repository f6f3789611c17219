// SPDX-License-Identifier: Apache-2.0
#pragma once
// Statements put together: loops around bodies, bodies one after the other.

#include <cstdint>
#include <string>
#include <vector>

#include "lower/detail/tile_indices.h"

namespace tilescope::lower {

using Body = std::vector<Statement>;

// One body after the other.
Body with(Body body, Body more);

Statement noted(Statement s, std::string note);
Statement looped(const AxisLoop& loop, Body body, std::int64_t unroll);

// A copy of the statements inside the loops, the first one outermost, unrolled wholly where `unroll` says so.
Body nest(const std::vector<AxisLoop>& loops, Body body, bool unroll);

// The loops of all axes, in the order of the axes.
std::vector<AxisLoop> joined(const std::vector<std::vector<AxisLoop>>& loops);

}  // namespace tilescope::lower

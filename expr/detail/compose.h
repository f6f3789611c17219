// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coordinates of coordinates: what a read becomes when its axes are replaced by coordinates over other axes.

#include <cstdint>
#include <optional>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// The coordinate that has the value of `outer` where axis a of it has the value of axes[a]. `sizes` are those of the
// axes that `axes` is written over: with them a division or remainder that the ranges decide is resolved, so that
// (y*16+x)/16 is y while x stays below 16. Nothing where a Coordinate cannot say it, as of 2*(y/2), or beyond 64 bits.
std::optional<Coordinate> composed(const Coordinate& outer, const std::vector<Coordinate>& axes,
                                   const std::vector<std::int64_t>& sizes);

}  // namespace tilescope::expr

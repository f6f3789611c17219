// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales operators down until every element can be computed and compared.

#include <cstdint>
#include <optional>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

// Returns the problem with its given sizes halved, the greatest first and rounded up, until no stage has more than
// `max_points` points. Given shapes shrink by as much as the highest coordinates read of them, so that reads beyond an
// edge stay beyond it. Returns nullopt where the problem itself has mistakes.
std::optional<Problem> scaled_down(const Problem& problem, std::int64_t max_points, base::Diagnostics& diags);

}  // namespace tilescope::expr

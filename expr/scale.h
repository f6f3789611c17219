// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators made small enough that every element can be computed and compared.

#include <cstdint>
#include <optional>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

// The problem with its given sizes halved, the greatest first and rounded up, until no stage has more than
// `max_points` points. Given shapes shrink by as much as the reads of them, so that what lay beyond an edge still
// does. Nothing where the problem itself has mistakes.
std::optional<Problem> scaled_down(const Problem& problem, std::int64_t max_points, base::Diagnostics& diags);

}  // namespace tilescope::expr

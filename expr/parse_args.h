// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments beside an expression: `m=4096,n=4096` of --size and `I=128,1024,14,14;W=3,4` of --shape.

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

// Every mistake goes to `diags` with its column, the text beginning at `at`; then there is no value. What may be given
// (the names, sizes from 1) is checked with the expression, by infer.
std::optional<std::vector<GivenSize>> parse_sizes(std::string_view text, base::Position at, base::Diagnostics& diags);
std::optional<std::vector<GivenShape>> parse_shapes(std::string_view text, base::Position at, base::Diagnostics& diags);

}  // namespace tilescope::expr

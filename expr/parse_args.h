// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments that accompany an expression: `m=4096,n=4096` of --size, `I=128,1024,14,14;W=3,4` of
// --shape and `bf16,A=i8,T=i32:sorted,accumulate=f32` of --dtype.

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "expr/infer.h"

namespace tilescope::expr {

// Every mistake goes to `diags` with its column, where the text begins at `at`; then the result is nullopt. infer
// checks names and sizes against the expression.
std::optional<std::vector<GivenSize>> parse_sizes(std::string_view text, base::Position at, base::Diagnostics& diags);
std::optional<std::vector<GivenShape>> parse_shapes(std::string_view text, base::Position at, base::Diagnostics& diags);
std::optional<GivenDtypes> parse_dtypes(std::string_view text, base::Position at, base::Diagnostics& diags);

}  // namespace tilescope::expr

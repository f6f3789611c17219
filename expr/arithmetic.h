// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer arithmetic over named variables, as suite files write sizes: `3 * hidden`, `seq / 2`.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/diagnostics.h"
#include "expr/lexer.h"

namespace tilescope::expr {

// Returns the value of a name, or nullopt after reporting an error at the token.
using ValueOf = std::function<std::optional<std::int64_t>(const Token& name)>;

// Evaluates `text`, which begins at `at`. The notation has + - * / %, parentheses, and min, max, ceil_div of two
// numbers. Every name is looked up through `value_of`. Syntax errors, inexact division, divisors below 1 and overflow
// of 64 bits are reported at their column; then the result is nullopt.
std::optional<std::int64_t> evaluate(std::string_view text, base::Position at, const ValueOf& value_of,
                                     base::Diagnostics& diags);

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic in whole numbers over named ones, as the sizes of a suite's file write it: `3 * hidden`, `seq / 2`.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/diagnostics.h"
#include "expr/lexer.h"

namespace tilescope::expr {

// The value of a name, or nothing after an error at the token.
using ValueOf = std::function<std::optional<std::int64_t>(const Token& name)>;

// The value of `text`, which begins at `at`: + - * / %, brackets, and min, max, ceil_div of two numbers. A division
// that leaves a rest, one by zero, and what does not fit 64 bits are errors at their column, as are mistakes of the
// text; every name of it is looked up. Nothing after an error.
std::optional<std::int64_t> evaluate(std::string_view text, base::Position at, const ValueOf& value_of,
                                     base::Diagnostics& diags);

}  // namespace tilescope::expr

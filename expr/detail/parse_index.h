// SPDX-License-Identifier: Apache-2.0
#pragma once
// One coordinate of a read: a sum of axes with whole coefficients, or such a sum divided by, or taken modulo, a whole
// number.

#include <cstdint>
#include <optional>
#include <string_view>

#include "expr/lexer.h"
#include "expr/parse.h"

namespace tilescope::expr {

// Reads a coordinate of `tensor` (for messages). Where the cursor has failed, the result means nothing.
NamedCoordinate parse_coordinate(Cursor& cursor, std::string_view tensor);

// The value of a kInteger token, or nothing after an error where it exceeds 64 bits.
std::optional<std::int64_t> integer_of(const Token& token, Cursor& cursor);

}  // namespace tilescope::expr

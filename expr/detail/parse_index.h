// SPDX-License-Identifier: Apache-2.0
#pragma once
// One coordinate of a read: a sum of axes with whole coefficients, such a sum divided by, or taken modulo, a whole
// number, or an element of a table of integers.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/lexer.h"
#include "expr/parse.h"

namespace tilescope::expr {

// Adds a read of a table to the stage and returns its position.
using AddTable = std::function<int(NamedRead table)>;

// Reads a coordinate of `tensor` (for messages). Where `add` is empty, tables are refused: the tensor is one itself.
// Where the cursor has failed, the result means nothing.
NamedCoordinate parse_coordinate(Cursor& cursor, std::string_view tensor, const AddTable& add);

// Reads the coordinates of `tensor` from behind its '[' to its ']'; nothing after an error.
std::optional<std::vector<NamedCoordinate>> parse_coordinates(Cursor& cursor, const Token& tensor, const AddTable& add);

// The value of a kInteger token, or nothing after an error where it exceeds 64 bits.
std::optional<std::int64_t> integer_of(const Token& token, Cursor& cursor);

}  // namespace tilescope::expr

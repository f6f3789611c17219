// SPDX-License-Identifier: Apache-2.0
#pragma once
// The range of a coordinate's values while its axes run over their ranges.

#include <cstdint>
#include <optional>
#include <vector>

#include "expr/expression.h"

namespace tilescope::expr {

// From `low` to `high`, both included.
struct Span {
  std::int64_t low = 0;
  std::int64_t high = 0;

  bool operator==(const Span&) const = default;
};

// Lowest and highest value of the coordinate, where axis a runs from 0 to sizes[a]-1; nullopt where an intermediate sum
// exceeds 64 bits. Exact for affine coordinates; for `%` at most as wide as 0..modulus-1.
std::optional<Span> span_of(const Coordinate& c, const std::vector<std::int64_t>& sizes);

// The coordinate's value at one point of the loops.
std::int64_t value_at(const Coordinate& c, const std::vector<std::int64_t>& point);

}  // namespace tilescope::expr

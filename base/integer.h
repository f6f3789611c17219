// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exact integer arithmetic: rounding, and products that report overflow instead of wrapping.

#include <cstdint>
#include <numeric>
#include <optional>

namespace tilescope::base {

// The smallest integer >= a / b, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The smallest multiple of b that is >= a, for a >= 0 and b > 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

// a / b rounded down and the rest, 0 <= rest < b, for b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a % b < 0 ? a % b + b : a % b; }

// a * b, or nullopt if it does not fit in 64 bits.
constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// a + b, or nullopt if it does not fit in 64 bits.
constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

}  // namespace tilescope::base

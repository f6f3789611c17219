// SPDX-License-Identifier: Apache-2.0
#include "expr/extent.h"

#include "base/integer.h"

namespace tilescope::expr {
namespace {

using base::floor_div;
using base::floor_mod;

Span modulo(Span s, std::int64_t modulus) {
  if (floor_div(s.low, modulus) != floor_div(s.high, modulus)) return {0, modulus - 1};
  return {floor_mod(s.low, modulus), floor_mod(s.high, modulus)};
}

}  // namespace

std::optional<Span> span_of(const Coordinate& c, const std::vector<std::int64_t>& sizes) {
  Span s{c.offset, c.offset};
  for (const Term& t : c.terms) {
    const auto reach = base::checked_mul(t.coefficient, sizes[static_cast<std::size_t>(t.axis)] - 1);
    if (!reach) return std::nullopt;
    std::int64_t& end = *reach < 0 ? s.low : s.high;
    const auto moved = base::checked_add(end, *reach);
    if (!moved) return std::nullopt;
    end = *moved;
  }
  if (c.modulus != 0) return modulo(s, c.modulus);
  return Span{floor_div(s.low, c.divisor), floor_div(s.high, c.divisor)};
}

std::int64_t value_at(const Coordinate& c, const std::vector<std::int64_t>& point) {
  std::int64_t v = c.offset;
  for (const Term& t : c.terms) v += t.coefficient * point[static_cast<std::size_t>(t.axis)];
  return c.modulus != 0 ? floor_mod(v, c.modulus) : floor_div(v, c.divisor);
}

}  // namespace tilescope::expr

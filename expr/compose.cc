// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/compose.h"

#include <algorithm>

#include "base/integer.h"
#include "expr/extent.h"

namespace tilescope::expr {
namespace {

// A sum of axes, in which a number beyond 64 bits is remembered.
class Sum {
 public:
  void add(std::int64_t factor, const Coordinate& c) {
    for (const Term& t : c.terms) add_term(t.axis, take(base::checked_mul(factor, t.coefficient)));
    add_offset(take(base::checked_mul(factor, c.offset)));
  }
  void add_offset(std::int64_t n) { c_.offset = take(base::checked_add(c_.offset, n)); }
  void scale(std::int64_t by) {
    for (Term& t : c_.terms) t.coefficient = take(base::checked_mul(t.coefficient, by));
    c_.offset = take(base::checked_mul(c_.offset, by));
  }

  std::optional<Coordinate> divided(std::int64_t divisor, std::int64_t modulus) {
    if (!fits_) return std::nullopt;
    Coordinate out;
    for (const Term& t : c_.terms)
      if (t.coefficient != 0) out.terms.push_back(t);
    out.offset = c_.offset;
    out.divisor = divisor;
    out.modulus = modulus;
    return out;
  }

 private:
  void add_term(int axis, std::int64_t coefficient) {
    const auto same = std::find_if(c_.terms.begin(), c_.terms.end(), [&](const Term& t) { return t.axis == axis; });
    if (same == c_.terms.end())
      c_.terms.push_back({axis, coefficient});
    else
      same->coefficient = take(base::checked_add(same->coefficient, coefficient));
  }

  std::int64_t take(std::optional<std::int64_t> n) {
    fits_ = fits_ && n;
    return n.value_or(0);
  }

  Coordinate c_;
  bool fits_ = true;
};

// The same values without the division or the remainder, where the ranges decide it: of the terms that are no multiples
// of the divisor, the sum stays between two of its multiples.
Coordinate resolved(const Coordinate& c, const std::vector<std::int64_t>& sizes) {
  if (c.affine()) return c;
  const std::int64_t by = c.modulus != 0 ? c.modulus : c.divisor;
  Coordinate multiples, rest;
  for (const Term& t : c.terms)
    if (t.coefficient % by == 0)
      multiples.terms.push_back({t.axis, t.coefficient / by});
    else
      rest.terms.push_back(t);
  rest.offset = c.offset;
  const auto span = span_of(rest, sizes);
  if (!span || base::floor_div(span->low, by) != base::floor_div(span->high, by)) return c;
  const std::int64_t quotient = base::floor_div(span->low, by);
  if (c.modulus == 0) {
    multiples.offset = quotient;
    return multiples;
  }
  const auto lower = base::checked_mul(-quotient, by);
  const auto offset = lower ? base::checked_add(rest.offset, *lower) : std::nullopt;
  if (!offset) return c;
  rest.offset = *offset;
  return rest;
}

}  // namespace

std::optional<Coordinate> composed(const Coordinate& outer, const std::vector<Coordinate>& axes,
                                   const std::vector<std::int64_t>& sizes) {
  Sum sum;
  sum.add_offset(outer.offset);
  std::optional<Coordinate> quotient;
  for (const Term& t : outer.terms) {
    Coordinate inner = resolved(axes[static_cast<std::size_t>(t.axis)], sizes);
    const auto step = base::checked_mul(t.coefficient, inner.modulus);
    if (inner.affine() || (outer.modulus != 0 && inner.modulus != 0 && step && *step % outer.modulus == 0)) {
      sum.add(t.coefficient, inner);  // a remainder of a multiple of the modulus does not change the outer remainder
    } else if (inner.modulus != 0) {
      const bool alone = outer.affine() && outer.terms.size() == 1 && t.coefficient == 1 && outer.offset == 0;
      if (!alone) return std::nullopt;
      return inner;
    } else {
      if (quotient || t.coefficient != 1 || outer.modulus != 0) return std::nullopt;
      quotient = inner;
    }
  }
  std::int64_t divisor = outer.divisor;
  if (quotient) {  // s/d + n is (s + n*d)/d, and a quotient's quotient is one by the product
    const auto product = base::checked_mul(divisor, quotient->divisor);
    if (!product) return std::nullopt;
    divisor = *product;
    sum.scale(quotient->divisor);
    sum.add(1, *quotient);
  }
  const auto out = sum.divided(divisor, outer.modulus);
  return out ? std::optional(resolved(*out, sizes)) : std::nullopt;
}

}  // namespace tilescope::expr

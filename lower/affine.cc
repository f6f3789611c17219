// SPDX-License-Identifier: Apache-2.0
#include "lower/affine.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/integer.h"

namespace tilescope::lower {
namespace {

// The terms that `take` accepts, removed from `a`.
template <class Predicate>
Affine take_terms(Affine& a, Predicate take) {
  Affine taken;
  for (const AffineTerm& t : a.terms)
    if (take(t)) taken.terms.push_back(t);
  std::erase_if(a.terms, take);
  return taken;
}

Affine exact_quotient(Affine a, std::int64_t divisor) {
  for (AffineTerm& t : a.terms) t.coefficient /= divisor;
  a.constant /= divisor;
  return a;
}

// The part of `a` that cannot change floor(a / divisor): terms that together stay below what all others are multiples
// of. Removes it, and returns that common factor, by which the rest and the divisor can be divided.
std::int64_t drop_low_part(const Kernel& k, Affine& a, std::int64_t divisor) {
  std::sort(a.terms.begin(), a.terms.end(),
            [](const AffineTerm& x, const AffineTerm& y) { return std::abs(x.coefficient) > std::abs(y.coefficient); });
  std::int64_t factor = divisor;
  for (std::size_t n = a.terms.size() + 1; n-- > 0;) {  // the last n terms are the low part
    const std::size_t high = a.terms.size() - n;
    factor = divisor;
    for (std::size_t i = 0; i < high; ++i) factor = std::gcd(factor, a.terms[i].coefficient);
    Affine low{{a.terms.begin() + static_cast<std::ptrdiff_t>(high), a.terms.end()},
               base::floor_mod(a.constant, factor)};
    const expr::Span range = range_of(k, low);
    if (range.low < 0 || range.high >= factor) continue;
    a.constant -= low.constant;
    a.terms.resize(high);
    break;
  }
  std::sort(a.terms.begin(), a.terms.end(), [](const AffineTerm& x, const AffineTerm& y) { return x.index < y.index; });
  return factor;
}

}  // namespace

Affine constant(std::int64_t value) { return {{}, value}; }

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum{{}, a.constant + b.constant};
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->index < y->index)) {
      sum.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->index < x->index) {
      sum.terms.push_back(*y++);
    } else {
      const std::int64_t c = x->coefficient + y->coefficient;
      if (c != 0) sum.terms.push_back({x->index, c});
      ++x, ++y;
    }
  }
  return sum;
}

Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }

Affine operator*(const Affine& a, std::int64_t factor) {
  if (factor == 0) return constant(0);
  Affine out = a;
  out.constant *= factor;
  for (AffineTerm& t : out.terms) t.coefficient *= factor;
  return out;
}

std::int64_t alignment_of(const Affine& a, std::int64_t most) {
  std::int64_t g = std::gcd(most, a.constant);
  for (const AffineTerm& t : a.terms) g = std::gcd(g, t.coefficient);
  return g;
}

IndexMaker::IndexMaker(Kernel& kernel) : kernel_(kernel) {
  base::check(kernel.indices.empty(), "a kernel's indices are made by one maker");
  kernel.indices.push_back({"block", IndexKind::kBlock, {0, kernel.blocks - 1}, {}, 1, 0});
  kernel.indices.push_back({"thread", IndexKind::kThread, {0, kernel.threads - 1}, {}, 1, 0});
}

Affine IndexMaker::block() const { return value(kBlockIndex); }
Affine IndexMaker::thread() const { return value(kThreadIndex); }

Affine IndexMaker::value(int index) const {
  const expr::Span& range = kernel_.indices[static_cast<std::size_t>(index)].range;
  return range.low == range.high ? constant(range.low) : Affine{{{index, 1}}, 0};
}

int IndexMaker::loop(const std::string& name, std::int64_t extent, std::int64_t first) {
  kernel_.indices.push_back({unused(name), IndexKind::kLoop, {first, first + extent - 1}, {}, 1, 0});
  return static_cast<int>(kernel_.indices.size() - 1);
}

Affine IndexMaker::quotient(Affine a, std::int64_t divisor, std::int64_t modulus, const std::string& name) {
  if (modulus != 0) {
    const std::int64_t period = divisor * modulus;
    take_terms(a, [&](const AffineTerm& t) { return t.coefficient % period == 0; });
    a.constant = base::floor_mod(a.constant, period);
    const expr::Span range = range_of(kernel_, a);
    if (range.low >= 0 && range.high < period) modulus = 0;
  }
  if (modulus == 0) {
    Affine exact = take_terms(a, [&](const AffineTerm& t) { return t.coefficient % divisor == 0; });
    exact.constant = base::floor_div(a.constant, divisor) * divisor;
    a.constant -= exact.constant;
    const expr::Span rest = range_of(kernel_, a);
    const bool none = rest.low >= 0 && rest.high < divisor;
    exact = exact_quotient(exact, divisor);
    return none ? exact : exact + derived(std::move(a), divisor, 0, name);
  }
  if (divisor == 1) {  // (g * x) mod (g * y) = g * (x mod y)
    std::int64_t g = std::gcd(modulus, a.constant);
    for (const AffineTerm& t : a.terms) g = std::gcd(g, t.coefficient);
    if (g == modulus) return constant(0);
    return derived(exact_quotient(std::move(a), g), 1, modulus / g, name) * g;
  }
  return derived(std::move(a), divisor, modulus, name);
}

Affine IndexMaker::derived(Affine of, std::int64_t divisor, std::int64_t modulus, const std::string& name) {
  if (divisor > 1) {
    const std::int64_t factor = drop_low_part(kernel_, of, divisor);
    of = exact_quotient(std::move(of), factor);
    divisor /= factor;
    if (factor > 1) return quotient(std::move(of), divisor, modulus, name);
  }
  for (std::size_t i = 0; i < kernel_.indices.size(); ++i) {
    const Index& known = kernel_.indices[i];
    if (known.kind == IndexKind::kDerived && known.of == of && known.divisor == divisor && known.modulus == modulus)
      return value(static_cast<int>(i));
  }
  const expr::Span range = range_of(kernel_, of);
  expr::Span values{base::floor_div(range.low, divisor), base::floor_div(range.high, divisor)};
  if (modulus != 0) values = {0, modulus - 1};
  kernel_.indices.push_back({unused(name), IndexKind::kDerived, values, std::move(of), divisor, modulus});
  return value(static_cast<int>(kernel_.indices.size() - 1));
}

std::string IndexMaker::unused(const std::string& name) const {
  const auto taken = [&](const std::string& n) {
    return std::any_of(kernel_.indices.begin(), kernel_.indices.end(), [&](const Index& i) { return i.name == n; });
  };
  std::string out = name;
  for (int n = 2; taken(out); ++n) out = name + std::to_string(n);
  return out;
}

}  // namespace tilescope::lower

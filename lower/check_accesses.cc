// SPDX-License-Identifier: Apache-2.0
// Accesses stay in their arrays: by the ranges of indices; where these are too wide, by guards; else by trying points.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/integer.h"
#include "lower/affine.h"
#include "lower/detail/kernel_check.h"

namespace tilescope::lower {
namespace {

constexpr std::int64_t kMaxPoints = 1 << 20;       // that are all tried
constexpr std::int64_t kDrawnPoints = 1 << 14;     // of more than that
constexpr std::int64_t kMaxDerivations = 1 << 26;  // of a kernel's indices, for all of its accesses

// What is known to lie in 0 .. bound-1.
struct Known {
  Affine value;
  std::int64_t bound = 0;
};

// The ranges of all indices for the threads from `first` on.
std::vector<expr::Span> ranges_of(const Kernel& k, std::int64_t first, std::int64_t threads) {
  std::vector<expr::Span> out;
  for (const Index& i : k.indices) {
    expr::Span r = i.range;
    if (i.kind == IndexKind::kThread) r = {first, first + threads - 1};
    if (i.kind == IndexKind::kDerived) {
      const expr::Span derived = derived_range(checked_range(out, i.of).value_or(r), i.divisor, i.modulus);
      r = {std::max(r.low, derived.low), std::min(r.high, derived.high)};
    }
    out.push_back(r);
  }
  return out;
}

class Bounds {
 public:
  Bounds(const Kernel& k, std::int64_t first, std::int64_t threads) : k_(k), ranges_(ranges_of(k, first, threads)) {
    for (std::size_t i = 0; i < k.indices.size(); ++i) {
      const Index& index = k.indices[i];
      if (index.kind == IndexKind::kDerived && index.modulus == 0)
        divisions_.push_back({index.of - Affine{{{static_cast<int>(i), index.divisor}}, 0}, index.divisor});
      else
        divisions_.push_back({});
    }
  }

  // No value is below `low` or above `high`, whatever indices are.
  bool within(const Affine& value, const std::vector<Known>& guards, std::int64_t low, std::int64_t high) const {
    const auto whole = checked_range(ranges_, value);
    if (whole && whole->low >= low && whole->high <= high) return true;
    std::vector<Known> known = guards;
    for (std::size_t i = 0; i < divisions_.size(); ++i)
      if (divisions_[i].bound > 1) known.push_back(divisions_[i]);
    return (whole && whole->high <= high ? true : least_upper(value, known) <= high) &&
           (whole && whole->low >= low ? true : least_upper(value * -1, known) <= -low);
  }

  // A point at which all guards hold and the value is outside, or no multiple of `aligned`; empty where none is found.
  std::string counterexample(const Affine& value, const std::vector<Known>& guards, std::int64_t low, std::int64_t high,
                             std::int64_t aligned, std::int64_t& derivations) const {
    std::vector<bool> needed(k_.indices.size(), false);
    const auto need = [&](const Affine& a) {
      for (const AffineTerm& t : a.terms) needed[static_cast<std::size_t>(t.index)] = true;
    };
    need(value);
    for (const Known& g : guards) need(g.value);
    std::vector<std::size_t> base, derived;
    for (std::size_t i = needed.size(); i-- > 0;) {
      if (!needed[i]) continue;
      need(k_.indices[i].of);
      (k_.indices[i].kind == IndexKind::kDerived ? derived : base).push_back(i);
    }
    std::reverse(derived.begin(), derived.end());
    std::int64_t points = 1;
    for (const std::size_t i : base) {
      const std::int64_t extent = ranges_[i].high - ranges_[i].low + 1;
      if (extent < 1) return {};
      points = extent > kMaxPoints ? kMaxPoints + 1 : std::min(points * extent, kMaxPoints + 1);
    }
    const bool drawn = points > kMaxPoints;
    std::vector<std::int64_t> at(k_.indices.size(), 0);
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (std::int64_t p = 0; p < (drawn ? kDrawnPoints : points) && derivations < kMaxDerivations; ++p) {
      std::int64_t rest = p;
      for (const std::size_t i : base) {
        const std::int64_t extent = ranges_[i].high - ranges_[i].low + 1;
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto random = static_cast<std::int64_t>(state >> 20);
        // The ends are where most mistakes are.
        const std::int64_t pick = random % 4 == 0 ? 0 : random % 4 == 1 ? extent - 1 : random / 4 % extent;
        at[i] = ranges_[i].low + (drawn ? pick : rest % extent);
        rest /= extent;
      }
      derivations += 1 + std::ssize(derived) + std::ssize(guards);
      for (const std::size_t i : derived) {
        const Index& index = k_.indices[i];
        at[i] = base::floor_div(value_at(index.of, at), index.divisor);
        if (index.modulus != 0) at[i] = base::floor_mod(at[i], index.modulus);
      }
      const bool holds = std::all_of(guards.begin(), guards.end(), [&](const Known& g) {
        const std::int64_t v = value_at(g.value, at);
        return v >= 0 && v < g.bound;
      });
      const std::int64_t v = value_at(value, at);
      if (!holds || (v >= low && v <= high && v % aligned == 0)) continue;
      std::string out = fmt::format("is {}", v);
      for (std::size_t b = base.size(); b-- > 0;)
        out += fmt::format("{}{} {}", b + 1 == base.size() ? " at " : ", ", k_.indices[base[b]].name, at[base[b]]);
      return out;
    }
    return {};
  }

 private:
  static std::int64_t value_at(const Affine& a, const std::vector<std::int64_t>& at) {
    std::int64_t sum = a.constant;
    for (const AffineTerm& t : a.terms) sum += t.coefficient * at[static_cast<std::size_t>(t.index)];
    return sum;
  }

  // A bound from above: value = (value - factor known) + factor known, of as few terms as factors of what is known can
  // leave.
  std::int64_t least_upper(Affine value, const std::vector<Known>& known) const {
    std::int64_t added = 0;
    auto best = upper(value);
    constexpr int kMaxSteps = 64;
    bool better = true;
    for (int step = 0; better && step < kMaxSteps; ++step) {
      better = false;
      for (const Known& g : known) {
        for (const AffineTerm& t : g.value.terms) {
          const auto own = std::find_if(value.terms.begin(), value.terms.end(),
                                        [&](const AffineTerm& x) { return x.index == t.index; });
          if (own == value.terms.end() || own->coefficient % t.coefficient != 0) continue;
          const std::int64_t factor = own->coefficient / t.coefficient;
          if (!small(g.value, factor)) continue;
          const Affine rest = value - g.value * factor;
          const auto more = factor > 0 ? base::checked_mul(factor, g.bound - 1) : std::optional<std::int64_t>(0);
          if (!more || std::abs(*more) > std::int64_t{1} << kIndexBits) continue;
          const auto bound = upper(rest);
          const bool fewer = rest.terms.size() < value.terms.size();
          if (!bound || (best && *bound + *more + added >= *best && !fewer)) continue;
          if (best && *bound + *more + added > *best) continue;
          value = rest;
          added += *more;
          best = *bound + added;
          better = true;
          break;
        }
      }
    }
    return best.value_or(std::numeric_limits<std::int64_t>::max());
  }
  // Whether the affine times the factor stays within what sums of some of them leave in 64 bits.
  static bool small(const Affine& a, std::int64_t factor) {
    const auto fits = [factor](std::int64_t x) {
      const auto product = base::checked_mul(x, factor);
      return product && std::abs(*product) < std::int64_t{1} << kIndexBits;
    };
    return fits(a.constant) &&
           std::all_of(a.terms.begin(), a.terms.end(), [&](const AffineTerm& t) { return fits(t.coefficient); });
  }
  std::optional<std::int64_t> upper(const Affine& a) const {
    const auto r = checked_range(ranges_, a);
    return r ? std::optional(r->high) : std::nullopt;
  }

  const Kernel& k_;
  std::vector<expr::Span> ranges_;
  std::vector<Known> divisions_;  // of - divisor * index, of derived indices without a modulus
};

bool multiples(const Affine& a, std::int64_t of) {
  return a.constant % of == 0 &&
         std::all_of(a.terms.begin(), a.terms.end(), [of](const AffineTerm& t) { return t.coefficient % of == 0; });
}

}  // namespace

void check_accesses(const CheckedKernel& of) {
  const Kernel& k = of.k;
  std::vector<std::pair<const WarpRole*, Bounds>> bounds;
  std::int64_t derivations = 0;
  const auto bounds_of = [&](const WarpRole* role) -> const Bounds& {
    for (const auto& [known, b] : bounds)
      if (known == role) return b;
    const std::int64_t first = role == nullptr ? 0 : role->first_thread;
    return bounds.emplace_back(role, Bounds(k, first, role == nullptr ? k.threads : role->threads)).second;
  };
  of.for_all([&](const Statement& s, const Inside& at) {
    for_each_operand(s, [&](const KeyPath& key, const Access& a, const auto& operand) {
      std::vector<Known> guards;
      for (const Guard* g : at.when) guards.push_back({g->value, g->bound});
      for (const auto* more : {operand.when, operand.inside})
        if (more != nullptr)
          for (const Guard& g : *more) guards.push_back({g.value, g.bound});
      const Buffer& b = of.buffer(a);
      const std::int64_t elements = operand.elements(k);
      const std::int64_t of_width = operand.aligned && b.space != Space::kRegister ? elements : 1;
      std::int64_t last = b.elements - elements;
      if (operand.gather != nullptr && *operand.gather)
        last -= base::checked_mul((*operand.gather)->extent - 1, (*operand.gather)->stride).value_or(kMax);
      const bool in = bounds_of(at.role).within(a.offset, guards, 0, last);
      if (in && multiples(a.offset, of_width)) return;
      const std::string example = bounds_of(at.role).counterexample(a.offset, guards, 0, last, of_width, derivations);
      if (example.empty()) return;
      const std::string wide = elements > 1 ? fmt::format(" of {} elements", elements) : "";
      of.wrong(at.path + key.text(), "an access{} to {}, which has {} elements, {}{}", wide, b.name, b.elements,
               example, of_width > 1 ? ": expected a multiple of its width within them" : "");
    });
  });
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
// Accesses stay in their arrays: by the ranges of indices; where these are too wide, by guards; else by trying points.

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/integer.h"
#include "lower/affine.h"
#include "lower/detail/kernel_check.h"
#include "tile/microkernel/wgmma.h"

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

// Elements from an operand's first one to its last one, in core matrices (lower/interpret_matrices.cc reads so).
std::int64_t reach_of(const SharedOperand& o, const Buffer& b, std::int64_t along, std::int64_t deep) {
  const std::int64_t columns = (b.swizzled_row > 0 ? b.swizzled_row : tile::kCoreRowBytes) / base::size_of(b.dtype).n;
  const std::int64_t rows = o.transposed ? deep : along, across = o.transposed ? along : deep;
  return (rows - 1) / tile::kCoreRows * (o.transposed ? o.deep : o.along) +
         std::min(rows - 1, tile::kCoreRows - 1) * columns +
         (across - 1) / columns * (o.transposed ? o.along : o.deep) + std::min(across - 1, columns - 1) + 1;
}

}  // namespace

void KernelCheck::accesses() {
  std::vector<std::pair<const WarpRole*, Bounds>> bounds;
  std::int64_t derivations = 0;
  const auto of = [&](const WarpRole* role) -> const Bounds& {
    for (const auto& [known, b] : bounds)
      if (known == role) return b;
    const std::int64_t first = role == nullptr ? 0 : role->first_thread;
    return bounds.emplace_back(role, Bounds(k_, first, role == nullptr ? k_.threads : role->threads)).second;
  };
  const std::vector<Guard> none;
  for_all([&](const Statement& s, const Inside& at) {
    const auto stays = [&](const Access& a, std::int64_t elements, std::string_view key, bool aligned = false,
                           const std::vector<Guard>& when = {}, const std::vector<Guard>& inside = {},
                           std::int64_t behind = 0) {
      std::vector<Known> guards;
      for (const Guard* g : at.when) guards.push_back({g->value, g->bound});
      for (const auto* more : {&when, &inside})
        for (const Guard& g : *more) guards.push_back({g.value, g.bound});
      const Buffer& b = buffer(a);
      const std::int64_t of_width = aligned && b.space != Space::kRegister ? elements : 1;
      const std::int64_t last = b.elements - elements - behind;  // `behind`: what an index adds at most
      const bool in = of(at.role).within(a.offset, guards, 0, last);
      if (in && multiples(a.offset, of_width)) return;
      const std::string example = of(at.role).counterexample(a.offset, guards, 0, last, of_width, derivations);
      if (example.empty()) return;
      const std::string wide = elements > 1 ? fmt::format(" of {} elements", elements) : "";
      wrong(at.path + std::string(key), "an access{} to {}, which has {} elements, {}{}", wide, b.name, b.elements,
            example, of_width > 1 ? ": expected a multiple of its width within them" : "");
    };
    std::visit(Visitor{[&](const Copy& c) {
                         stays(c.to, c.elements, ".to", true, c.when);
                         const std::int64_t behind = c.gather ? (c.gather->extent - 1) * c.gather->stride : 0;
                         stays(c.from, c.elements, ".from", true, c.when, c.inside, behind);
                         if (!c.gather) return;
                         stays(c.gather->index, 1, ".gather.index", false, c.when, c.inside);
                         stays(c.gather->table, 1, ".gather.table", false, c.when, c.inside);
                       },
                       [&](const LoadMatrix& l) {
                         stays(l.rows.from, l.rows.elements, ".rows.from", true, l.rows.when);
                         stays(l.rows.to, l.map.elements_of_lane(), ".rows.to");
                       },
                       [&](const Compute& c) {
                         for (const Access& a : c.operands) stays(a, 1, ".operands", false, c.when);
                         stays(c.target, 1, ".target", false, c.when);
                       },
                       [&](const ReduceLanes& r) { stays(r.target, 1, ".target"); },
                       [&](const Mma& m) {
                         const MatrixInstruction& i = instruction_of(k_, m);
                         stays(m.d, i.c.elements_of_lane(), ".d");
                         stays(m.a, i.a->elements_of_lane(), ".a");
                         stays(m.b, i.b->elements_of_lane(), ".b");
                       },
                       [&](const Wgmma& m) {
                         const MatrixInstruction& i = instruction_of(k_, m);
                         stays(m.d, i.c.elements_of_lane() * (m.columns / i.shape.n), ".d");
                         stays(m.a.at, reach_of(m.a, buffer(m.a.at), i.shape.m, i.shape.k), ".a");
                         stays(m.b.at, reach_of(m.b, buffer(m.b.at), m.columns, i.shape.k), ".b");
                       },
                       [&](const OneOf<TmaLoad, TmaStore> auto& b) { stays(b.shared, b.elements(), ".shared"); },
                       [](const auto&) {}},
               s.what);
  });
}

}  // namespace tilescope::lower

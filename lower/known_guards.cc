// SPDX-License-Identifier: Apache-2.0
#include "lower/known_guards.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"
#include "lower/affine.h"

namespace tilescope::lower {
namespace {

// Ranges of a kernel's indices at a place in its body.
class KnownRanges {
 public:
  explicit KnownRanges(const Kernel& k) : kernel_(&k) {
    for (const Index& i : k.indices) spans_.push_back(i.range);
  }

  expr::Span range(const Affine& a) const {
    expr::Span s{a.constant, a.constant};
    for (const AffineTerm& t : a.terms) {
      const expr::Span of = scaled(span(t.index), t.coefficient);
      s.low += of.low;
      s.high += of.high;
    }
    return s;
  }

  // The least that it can be, and the greatest in a grid of any size: kernels that measure an instruction keep its
  // results behind a guard that no block of their grid passes.
  expr::Span range_in_any_grid(const Affine& a) const {
    expr::Span s = range(a);
    for (const AffineTerm& t : a.terms)
      if (t.index == kBlockIndex) (t.coefficient > 0 ? s.high : s.low) += t.coefficient * kAnyGrid;
    return s;
  }

  void enter_loop(const Loop& loop) {
    span(loop.index) = index(loop.index).range;
    for (std::size_t i = 0; i < spans_.size(); ++i)  // what is known of them was known of another iteration
      if (kernel_->indices[i].kind == IndexKind::kDerived) spans_[i] = kernel_->indices[i].range;
    if (loop.first) narrow(loop.index, {range(*loop.first).low, span(loop.index).high});
    if (loop.last) narrow(loop.index, {span(loop.index).low, range(*loop.last).high});
    narrow_derived();
  }
  void enter_role(const WarpRole& r) {
    narrow(kThreadIndex, {r.first_thread, r.first_thread + r.threads - 1});
    narrow_derived();
  }
  void assume(const std::vector<Guard>& guards) {
    for (const Guard& g : guards) {
      const expr::Span all = range(g.value);
      for (const AffineTerm& t : g.value.terms) {
        const expr::Span own = scaled(span(t.index), t.coefficient);
        // coefficient * index is within these, whatever the other terms are.
        const std::int64_t least = all.low - own.low, greatest = all.high - own.high;
        narrow(t.index, quotient({-greatest, g.bound - 1 - least}, t.coefficient));
      }
    }
    narrow_derived();
  }

 private:
  static constexpr std::int64_t kAnyGrid = std::int64_t{1} << 31;

  const Index& index(int i) const { return kernel_->indices[static_cast<std::size_t>(i)]; }
  expr::Span& span(int i) { return spans_[static_cast<std::size_t>(i)]; }
  const expr::Span& span(int i) const { return spans_[static_cast<std::size_t>(i)]; }

  static expr::Span scaled(const expr::Span& s, std::int64_t factor) {
    return factor >= 0 ? expr::Span{s.low * factor, s.high * factor} : expr::Span{s.high * factor, s.low * factor};
  }
  // The integers x for which factor * x is in the span.
  static expr::Span quotient(expr::Span s, std::int64_t factor) {
    if (factor < 0) s = {-s.high, -s.low}, factor = -factor;
    return {-base::floor_div(-s.low, factor), base::floor_div(s.high, factor)};
  }
  // Where nothing would be left, no thread comes there.
  void narrow(int i, const expr::Span& to) {
    const expr::Span both{std::max(span(i).low, to.low), std::min(span(i).high, to.high)};
    if (both.low <= both.high) span(i) = both;
  }
  void narrow_derived() {
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const Index& derived = kernel_->indices[i];
      if (derived.kind != IndexKind::kDerived) continue;
      const expr::Span of = range(derived.of);
      expr::Span s{base::floor_div(of.low, derived.divisor), base::floor_div(of.high, derived.divisor)};
      if (derived.modulus != 0) {
        const std::int64_t period = base::floor_div(s.low, derived.modulus);
        if (period != base::floor_div(s.high, derived.modulus)) continue;
        s = {s.low - period * derived.modulus, s.high - period * derived.modulus};
      }
      narrow(static_cast<int>(i), s);
    }
  }

  const Kernel* kernel_;
  std::vector<expr::Span> spans_;
};

const Guard kNever = {{{}, -1}, 1};

void drop_known(std::vector<Guard>& guards, const KnownRanges& known) {
  bool never = false;
  std::erase_if(guards, [&](const Guard& g) {
    const expr::Span s = known.range(g.value), any = known.range_in_any_grid(g.value);
    never = never || any.high < 0 || any.low >= g.bound;
    return s.low >= 0 && s.high < g.bound;
  });
  if (never) guards = {kNever};
}

void simplify(std::vector<Statement>& body, const KnownRanges& known);

// What stands in the place of a statement; its own note comes first.
void simplify(Statement& s, const KnownRanges& known, std::vector<Statement>& out) {
  if (auto* loop = std::get_if<Loop>(&s.what)) {
    KnownRanges inside = known;
    inside.enter_loop(*loop);
    simplify(loop->body, inside);
  } else if (auto* branch = std::get_if<If>(&s.what)) {
    drop_known(branch->when, known);
    KnownRanges inside = known;
    inside.assume(branch->when);
    simplify(branch->body, inside);
    if (branch->when.empty() && !branch->body.empty()) {
      std::string& note = branch->body.front().note;
      if (!s.note.empty()) note = note.empty() ? s.note : s.note + "; " + note;
      std::move(branch->body.begin(), branch->body.end(), std::back_inserter(out));
      return;
    }
  } else if (auto* specialized = std::get_if<WarpSpecialized>(&s.what)) {
    for (WarpRole& r : specialized->roles) {
      KnownRanges inside = known;
      inside.enter_role(r);
      simplify(r.body, inside);
    }
  } else if (auto* copy = std::get_if<Copy>(&s.what)) {
    drop_known(copy->when, known);
    KnownRanges inside = known;
    inside.assume(copy->when);
    drop_known(copy->inside, inside);
  } else if (auto* compute = std::get_if<Compute>(&s.what)) {
    drop_known(compute->when, known);
  } else if (auto* products = std::get_if<Wgmma>(&s.what)) {
    drop_known(products->adds, known);
  } else if (auto* issued = std::get_if<Tcgen05Mma>(&s.what)) {
    drop_known(issued->adds, known);
  }
  out.push_back(std::move(s));
}

void simplify(std::vector<Statement>& body, const KnownRanges& known) {
  std::vector<Statement> out;
  for (Statement& s : body) simplify(s, known, out);
  body = std::move(out);
}

}  // namespace

bool never_holds(const Guard& g) {
  return g.value.terms.empty() && (g.value.constant < 0 || g.value.constant >= g.bound);
}

Kernel without_known_guards(Kernel kernel) {
  const std::vector<Index> indices = kernel.indices;  // the body changes, they do not
  Kernel of;
  of.indices = indices;
  simplify(kernel.body, KnownRanges(of));
  return kernel;
}

}  // namespace tilescope::lower

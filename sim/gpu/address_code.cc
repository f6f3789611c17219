// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/address_code.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/integer.h"
#include "lower/statement_parts.h"

namespace tilescope::sim {

using lower::Affine;
using lower::Loop;
using lower::Statement;

namespace {

// Terms of values, by their numbers, in order.
using Terms = std::vector<std::pair<int, std::int64_t>>;

// An affine in which indices of unrolled loops are constants.
struct Linear {
  Terms terms;
  std::int64_t constant = 0;
};

std::int64_t extent_of(const Loop& l, const lower::Kernel& k) {
  const expr::Span range = k.indices[static_cast<std::size_t>(l.index)].range;
  return range.high - range.low + 1;
}

bool is_power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

}  // namespace

bool AddressCode::unrolled(const Loop& l, const lower::Kernel& k) {
  return !l.has_ends() && l.unroll >= extent_of(l, k);
}

OverheadInstructions AddressCode::of(const Loop* loop) const {
  const auto found = of_.find(loop);
  return found == of_.end() ? OverheadInstructions{} : found->second;
}

// Walks the kernel once, through all copies of unrolled bodies.
class AddressCodeMaker {
 public:
  AddressCodeMaker(const lower::Kernel& k, const AddressCode::Target& target, AddressCode& code)
      : kernel_(k), target_(target), code_(code), fixed_(k.indices.size()) {
    open_.push_back({nullptr, -1, 1});
    walk(k.body);
    set_predicates();
  }

 private:
  // A loop around the statement in hand that is in the code; the first is the kernel itself.
  struct Open {
    const Loop* loop = nullptr;
    int index = -1;
    std::int64_t copies = 1;  // of its body
  };
  // A guard: the loop that its value changes in, instructions before the comparison, copies of the body that it is in.
  struct Test {
    const Loop* changes = nullptr;
    double before = 0;
    std::int64_t copies = 1;
  };
  // A value that is no loop, block or thread: floor(of / divisor), modulo `modulus` where that is not 0.
  struct Derived {
    Terms of;
    std::int64_t constant = 0, divisor = 1, modulus = 0;
    auto operator<=>(const Derived&) const = default;
  };

  OverheadInstructions& at(std::size_t level) { return code_.of_[open_[level].loop]; }
  // Instructions of the loop at that level, each copy of whose body does as many iterations' work.
  void issue(std::size_t level, double OverheadInstructions::* kind, double n) {
    at(level).*kind += n / static_cast<double>(open_[level].copies);
  }

  void walk(const std::vector<Statement>& body) {
    for (const Statement& s : body) walk(s);
  }

  void walk(const Statement& s) {
    if (const auto* loop = std::get_if<Loop>(&s.what)) return walk(*loop);
    if (const auto* branch = std::get_if<lower::If>(&s.what)) {
      guard(branch->when);
      issue(open_.size() - 1, &OverheadInstructions::control, 1);
      return walk(branch->body);
    }
    if (const auto* roles = std::get_if<lower::WarpSpecialized>(&s.what)) {
      for (const lower::WarpRole& r : roles->roles) walk(r.body);
      return;
    }
    const auto copy = [&](const lower::Copy& c) {
      guard(c.when);
      guard(c.inside);
    };
    if (const auto* c = std::get_if<lower::Copy>(&s.what)) copy(*c);
    if (const auto* c = std::get_if<lower::LoadMatrix>(&s.what)) copy(c->rows);
    if (const auto* c = std::get_if<lower::Compute>(&s.what)) {
      guard(c->when);
      for (const Affine& index : c->indices)
        if (const Linear value = linear(index); !value.terms.empty()) sum(value.terms);
    }
    const bool copied = std::holds_alternative<lower::Copy>(s.what);
    lower::for_each_access(s, [&](const lower::Access& a, lower::AccessKind) { address(a, copied); });
    if (const auto* c = std::get_if<lower::Copy>(&s.what); c != nullptr && c->gather) gathered_address();
  }

  void walk(const Loop& l) {
    const expr::Span range = kernel_.indices[static_cast<std::size_t>(l.index)].range;
    std::optional<std::int64_t>& value = fixed_[static_cast<std::size_t>(l.index)];
    if (AddressCode::unrolled(l, kernel_)) {
      for (std::int64_t v = range.low; v <= range.high; ++v) {
        value = v;
        walk(l.body);
      }
      value.reset();
      return;
    }
    const std::int64_t copies = std::max<std::int64_t>(1, l.unroll);
    open_.push_back({&l, l.index, copies});
    issue(open_.size() - 1, &OverheadInstructions::integer, 1);
    issue(open_.size() - 1, &OverheadInstructions::predicate, 1);
    issue(open_.size() - 1, &OverheadInstructions::control, 1);
    ++code_.registers_;
    for (std::int64_t c = 0; c < copies; ++c) {
      ahead_[l.index] = c;
      walk(l.body);
    }
    ahead_.erase(l.index);
    open_.pop_back();
  }

  // --- values

  // The level of the innermost loop that the value changes in.
  std::size_t level_of(int value) const {
    if (value >= static_cast<int>(kernel_.indices.size()))
      return level_of(derived_[static_cast<std::size_t>(value) - kernel_.indices.size()].of);
    for (std::size_t n = open_.size(); n-- > 1;)
      if (open_[n].index == value) return n;
    return 0;
  }
  std::size_t level_of(const Terms& terms) const {
    std::size_t level = 0;
    for (const auto& [value, factor] : terms) level = std::max(level, level_of(value));
    return level;
  }

  Linear linear(const Affine& a) {
    Linear out{{}, a.constant};
    std::map<int, std::int64_t> terms;
    for (const lower::AffineTerm& t : a.terms) {
      const auto index = static_cast<std::size_t>(t.index);
      if (fixed_[index]) {
        out.constant += t.coefficient * *fixed_[index];
        continue;
      }
      const lower::Index& i = kernel_.indices[index];
      if (i.kind != lower::IndexKind::kDerived) {
        if (const auto ahead = ahead_.find(t.index); ahead != ahead_.end())
          out.constant += t.coefficient * ahead->second;
        terms[t.index] += t.coefficient;
        continue;
      }
      const auto [value, constant] = derived(linear(i.of), i.divisor, i.modulus);
      out.constant += t.coefficient * constant;
      if (value >= 0) terms[value] += t.coefficient;
    }
    for (const auto& term : terms)
      if (term.second != 0) out.terms.push_back(term);
    return out;
  }

  // The number of the value, or -1 of a constant, and what is to be added to it.
  std::pair<int, std::int64_t> derived(Linear of, std::int64_t divisor, std::int64_t modulus) {
    std::int64_t apart = 0;
    if (of.terms.empty()) {
      const std::int64_t q = base::floor_div(of.constant, divisor);
      return {-1, modulus > 0 ? base::floor_mod(q, modulus) : q};
    }
    if (modulus == 0) {
      apart = base::floor_div(of.constant, divisor);
      of.constant -= apart * divisor;
    }
    const Derived wanted{of.terms, of.constant, divisor, modulus};
    auto known = std::find(derived_.begin(), derived_.end(), wanted);
    if (known == derived_.end()) known = derived_.insert(derived_.end(), wanted);
    const int value = static_cast<int>(kernel_.indices.size()) + static_cast<int>(known - derived_.begin());
    if (computed(level_of(of.terms), value)) return {value, apart};
    const std::size_t level = sum(of.terms);
    double n = of.constant != 0 ? 1 : 0;
    if (divisor > 1) n += is_power_of_two(divisor) ? 1 : 2;
    if (modulus > 0) n += 1;
    issue(level, &OverheadInstructions::integer, n);
    return {value, apart};
  }

  // Whether the loop of that level has the value already; now it has.
  bool computed(std::size_t level, int value) { return !values_.insert({open_[level].loop, value}).second; }

  // Computes a sum of terms where it is not known yet: what belongs to outer loops before them.
  std::size_t sum(const Terms& terms) {
    const std::size_t level = level_of(terms);
    if (!sums_.insert({open_[level].loop, terms}).second) return level;
    Terms outer;
    double own = 0;
    bool plain = false;
    for (const auto& term : terms) {
      if (level_of(term.first) < level) {
        outer.push_back(term);
        continue;
      }
      own += 1;
      plain = plain || term.second == 1;
    }
    if (!outer.empty()) {
      sum(outer);
      code_.registers_ += kept_sums_.insert(outer).second ? 1 : 0;
    }
    // Each is multiplied and added in one instruction, the first of all has nothing to be added to.
    issue(level, &OverheadInstructions::integer, outer.empty() && plain ? own - 1 : own);
    return level;
  }

  // A row's pieces have places of their own, each found by one instruction from where the row's first one is.
  void permute_piece(const lower::Buffer& b, const Linear& at, std::size_t level) {
    const std::int64_t byte = at.constant * base::size_of(b.dtype).n, row = b.swizzled_row;
    if (!swizzled_.insert({open_[level].loop, at.terms, byte % row / lower::kSwizzledPiece}).second) return;
    issue(level, &OverheadInstructions::integer, 1);
  }

  void address(const lower::Access& a, bool copied) {
    const lower::Buffer& b = kernel_.buffers[static_cast<std::size_t>(a.buffer)];
    if (b.space == lower::Space::kRegister) return;
    Linear at = linear(a.offset);
    const bool shared = b.space == lower::Space::kShared;
    if (shared)  // arrays of the scratchpad lie a constant apart
      for (auto& term : at.terms) term.second *= base::size_of(b.dtype).n;
    const std::size_t level = level_of(at.terms);
    if (copied && b.swizzled_row > 0) permute_piece(b, at, level);
    const int array = shared ? -1 : a.buffer;
    keep(array, at.terms);
    if (!addresses_.insert({open_[level].loop, array, at.terms}).second) return;
    if (!at.terms.empty()) sum(at.terms);
    issue(level, &OverheadInstructions::integer, shared ? 1 : static_cast<double>(target_.address));
  }

  // The index, times the distance of its elements, is added to the pointer for each access.
  void gathered_address() {
    issue(open_.size() - 1, &OverheadInstructions::integer, static_cast<double>(target_.address));
  }

  // What of an address does not change in the loop around it stays in registers through all of it.
  void keep(int array, const Terms& terms) {
    Terms outer;
    for (const auto& term : terms)
      if (level_of(term.first) + 1 < open_.size()) outer.push_back(term);
    if (!outer.empty() && kept_addresses_.insert({array, outer}).second) code_.registers_ += array < 0 ? 1 : 2;
  }

  void guard(const std::vector<lower::Guard>& guards) {
    for (const lower::Guard& g : guards) {
      const Linear value = linear(g.value);
      if (value.terms.empty()) continue;
      const std::size_t level = level_of(value.terms);
      if (!guards_.insert({open_.back().loop, value.terms, value.constant, g.bound}).second) continue;
      sum(value.terms);
      // Below the bound, and where the value can be negative with it: as unsigned, after the constant is added.
      const double before = value.constant != 0 && range_is_negative(g.value) ? 1 : 0;
      const Loop* const body = open_.back().loop;
      auto of_body =
          std::find_if(guards_of_.begin(), guards_of_.end(), [&](const auto& known) { return known.first == body; });
      if (of_body == guards_of_.end()) of_body = guards_of_.insert(guards_of_.end(), {body, {}});
      of_body->second.push_back({open_[level].loop, before, open_.back().copies});
    }
  }

  // A predicate that does not change in a loop is set before it, as long as there are enough of them.
  void set_predicates() {
    for (const auto& [body, guards] : guards_of_) {
      const bool all_kept = !target_.predicates || std::ssize(guards) <= *target_.predicates;
      for (const Test& t : guards) {
        OverheadInstructions& issued = code_.of_[all_kept ? t.changes : body];
        issued.integer += t.before / static_cast<double>(t.copies);
        issued.predicate += 1 / static_cast<double>(t.copies);
      }
    }
  }

  bool range_is_negative(const Affine& a) const { return lower::range_of(kernel_, a).low < 0; }

  const lower::Kernel& kernel_;
  const AddressCode::Target& target_;
  AddressCode& code_;
  std::vector<Open> open_;
  std::vector<std::optional<std::int64_t>> fixed_;  // by index, of unrolled loops
  std::map<int, std::int64_t> ahead_;               // of loops of which several iterations are one body
  std::vector<Derived> derived_;
  std::set<std::pair<const Loop*, int>> values_;
  std::set<std::pair<const Loop*, Terms>> sums_;
  std::set<std::tuple<const Loop*, int, Terms>> addresses_;
  std::set<std::tuple<const Loop*, Terms, std::int64_t>> swizzled_;
  std::set<Terms> kept_sums_;  // wanted in a loop inside the one that they are computed in
  std::set<std::pair<int, Terms>> kept_addresses_;
  std::set<std::tuple<const Loop*, Terms, std::int64_t, std::int64_t>> guards_;
  // By the loop in whose body they stand, in the order in which these were met.
  std::vector<std::pair<const Loop*, std::vector<Test>>> guards_of_;
};

AddressCode::AddressCode(const lower::Kernel& k, const Target& target) { AddressCodeMaker(k, target, *this); }

AddressCode::Target target_of(const arch::ArchSpec& chip) {
  if (!chip.compiler) return {};
  return {chip.compiler->predicates, chip.compiler->address.value_or(1)};
}

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#include "api/common/time_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tilescope::api {
namespace {

constexpr const char* kRest = "rest";

// A term on one side: what it adds to the time, and what overlaps with the other terms.
struct Side {
  double added = 0, overlapping = 0;

  double alone() const { return added + overlapping; }
};

struct Moving {
  std::string name;
  Side left, right;

  double slope() const { return right.overlapping - left.overlapping; }
  double at(double s) const { return left.overlapping + s * slope(); }
};

std::vector<Moving> moving_terms(const std::vector<TimedTerm>& left, const std::vector<TimedTerm>& right) {
  std::vector<Moving> out;
  const auto add = [&](const std::vector<TimedTerm>& terms, Side Moving::* side) {
    for (const TimedTerm& t : terms) {
      auto found = std::find_if(out.begin(), out.end(), [&](const Moving& m) { return m.name == t.name; });
      if (found == out.end()) found = out.insert(out.end(), {t.name, {}, {}});
      (t.overlaps ? ((*found).*side).overlapping : ((*found).*side).added) += t.us;
    }
  };
  add(left, &Moving::left);
  add(right, &Moving::right);
  return out;
}

// The share of each term in the change of the longest overlapping one, along straight lines from left to right: the
// longest is a convex chain of lines, each steeper than the one before it.
std::vector<double> shares_of_longest(const std::vector<Moving>& terms) {
  std::vector<double> out(terms.size(), 0.0);
  if (terms.empty()) return out;
  const auto rank = [&](std::size_t i) { return std::pair(terms[i].left.overlapping, terms[i].slope()); };
  std::size_t longest = 0;
  for (std::size_t i = 1; i < terms.size(); ++i)
    if (rank(i) > rank(longest)) longest = i;
  for (double s = 0; s < 1;) {
    double next = 1;
    std::size_t then = longest;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const double steeper = terms[i].slope() - terms[longest].slope();
      if (!(steeper > 0)) continue;
      const double meets = std::max(s, s + (terms[longest].at(s) - terms[i].at(s)) / steeper);
      const bool first = meets < next || (then != longest && meets == next && terms[i].slope() > terms[then].slope());
      if (first && meets < 1) next = meets, then = i;
    }
    out[longest] += (next - s) * terms[longest].slope();
    if (then == longest) break;
    longest = then;
    s = next;
  }
  return out;
}

double rest_of(double us, const std::vector<Moving>& terms, Side Moving::* side) {
  double longest = 0;
  for (const Moving& m : terms) us -= (m.*side).added, longest = std::max(longest, (m.*side).overlapping);
  return us - longest;
}

void add(std::vector<TermChange>& sums, const std::vector<TermChange>& more) {
  for (const TermChange& t : more) {
    auto found = std::find_if(sums.begin(), sums.end(), [&](const TermChange& s) { return s.term == t.term; });
    if (found == sums.end()) found = sums.insert(sums.end(), {t.term});
    found->left_us += t.left_us;
    found->right_us += t.right_us;
    found->change_us += t.change_us;
  }
}

void sort_by_change(std::vector<TermChange>& terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const TermChange& a, const TermChange& b) {
    return std::abs(a.change_us) > std::abs(b.change_us);
  });
}

// Sets of numbers that grow together.
class Sets {
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t of(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The set of the smaller number keeps its name.
  void join(std::size_t a, std::size_t b) {
    a = of(a), b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

// By name of a node, the kernels that compute it.
std::map<std::string, std::vector<std::size_t>> computing(const std::vector<TimedKernels>& kernels) {
  std::map<std::string, std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    for (const std::string& node : kernels[i].nodes) out[node].push_back(i);
  return out;
}

// The kernels of one chip that belong together.
struct Together {
  double us = 0;
  std::size_t kernels = 0;
  std::optional<double> energy_uj = 0.0;
  std::vector<TimedTerm> terms;
  std::string program, error, bound_by;
  const TimedKernels* longest = nullptr;

  void add(const TimedKernels& k) {
    program += fmt::format("{} {}\n", k.count, k.program);
    if (!k.us) {
      error = k.error.empty() ? "no time" : k.error;
      return;
    }
    us += k.count * *k.us;
    kernels += k.kernels;
    energy_uj = energy_uj && k.energy_uj ? std::optional(*energy_uj + k.count * *k.energy_uj) : std::nullopt;
    if (longest == nullptr || k.count * *k.us > longest->count * *longest->us) longest = &k;
    for (const TimedTerm& t : k.terms) terms.push_back({t.name, k.count * t.us, t.overlaps});
  }
};

struct Pair {
  const TimedKernels* first = nullptr;
  std::vector<std::string> nodes;
  Together left, right;
};

std::vector<Pair> pairs_of(const std::vector<TimedKernels>& left, const std::vector<TimedKernels>& right) {
  Sets sets(left.size() + right.size());
  const auto left_of = computing(left), right_of = computing(right);
  for (const auto& [node, kernels] : left_of)
    if (const auto other = right_of.find(node);
        other != right_of.end() && kernels.size() == 1 && other->second.size() == 1)
      sets.join(kernels.front(), left.size() + other->second.front());
  std::vector<Pair> out;
  std::map<std::size_t, std::size_t> known;
  const auto add = [&](std::size_t i, const TimedKernels& k, Together Pair::* side) {
    const auto [at, is_new] = known.try_emplace(sets.of(i), out.size());
    if (is_new) out.emplace_back().first = &k;
    Pair& p = out[at->second];
    (p.*side).add(k);
    for (const std::string& node : k.nodes)
      if (std::find(p.nodes.begin(), p.nodes.end(), node) == p.nodes.end()) p.nodes.push_back(node);
  };
  for (std::size_t i = 0; i < left.size(); ++i) add(i, left[i], &Pair::left);
  for (std::size_t i = 0; i < right.size(); ++i) add(left.size() + i, right[i], &Pair::right);
  return out;
}

std::string error_of(const Pair& p) { return p.left.error.empty() ? p.right.error : p.left.error; }

KernelsChange first_of(const Pair& p) {
  KernelsChange out;
  out.nodes = p.nodes;
  const TimedKernels* longest = p.left.longest != nullptr ? p.left.longest : p.right.longest;
  out.kind = longest == nullptr ? p.first->kind : longest->kind;
  out.count = 0;
  out.left_kernels = p.left.kernels;
  out.right_kernels = p.right.kernels;
  if (p.left.longest != nullptr) out.left_bound_by = p.left.longest->bound_by;
  if (p.right.longest != nullptr) out.right_bound_by = p.right.longest->bound_by;
  out.left_energy_uj = out.right_energy_uj = 0.0;
  out.error = error_of(p);
  return out;
}

std::optional<double> sum(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

}  // namespace

std::vector<TermChange> term_changes(double left_us, const std::vector<TimedTerm>& left, double right_us,
                                     const std::vector<TimedTerm>& right) {
  const std::vector<Moving> terms = moving_terms(left, right);
  const std::vector<double> shares = shares_of_longest(terms);
  std::vector<TermChange> out;
  for (std::size_t i = 0; i < terms.size(); ++i)
    out.push_back({terms[i].name, terms[i].left.alone(), terms[i].right.alone(),
                   terms[i].right.added - terms[i].left.added + shares[i]});
  const double rest_left = rest_of(left_us, terms, &Moving::left),
               rest_right = rest_of(right_us, terms, &Moving::right);
  // What is lost by rounding is no rest.
  constexpr double kRounding = 1e-9;
  if (std::max(std::abs(rest_left), std::abs(rest_right)) > kRounding * std::max(left_us, right_us))
    out.push_back({kRest, rest_left, rest_right, rest_right - rest_left});
  std::erase_if(out, [](const TermChange& t) { return t.left_us == 0 && t.right_us == 0; });
  return out;
}

TimeChange time_change(const std::vector<TimedKernels>& left, const std::vector<TimedKernels>& right) {
  TimeChange out;
  std::map<std::string, std::size_t> known;
  for (const Pair& p : pairs_of(left, right)) {
    const auto [at, is_new] =
        known.try_emplace(fmt::format("{}|{}", p.left.program, p.right.program), out.kernels.size());
    if (is_new) out.kernels.push_back(first_of(p));
    KernelsChange& k = out.kernels[at->second];
    k.count += p.first->count;
    if (!k.error.empty()) {
      ++out.without_time;
      continue;
    }
    k.left_us += p.left.us;
    k.right_us += p.right.us;
    k.left_energy_uj = sum(k.left_energy_uj, p.left.energy_uj);
    k.right_energy_uj = sum(k.right_energy_uj, p.right.energy_uj);
    const std::vector<TermChange> terms = term_changes(p.left.us, p.left.terms, p.right.us, p.right.terms);
    add(k.terms, terms);
    add(out.terms, terms);
    out.left_us += p.left.us;
    out.right_us += p.right.us;
  }
  for (KernelsChange& k : out.kernels) sort_by_change(k.terms);
  sort_by_change(out.terms);
  return out;
}

}  // namespace tilescope::api

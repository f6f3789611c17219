// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "expr/detail/rebuild.h"
#include "expr/detail/resolve.h"
#include "expr/rewrite.h"

namespace tilescope::expr {
namespace {

// A product as its factors: `above` are multiplied, `below` divided by.
struct Factors {
  std::vector<int> above, below;  // nodes

  bool empty() const { return above.empty() && below.empty(); }
};

void find_factors(const std::vector<Node>& body, int node, bool inverted, Factors& out) {
  const Node& n = body[static_cast<std::size_t>(node)];
  if (n.kind != NodeKind::kMultiply && n.kind != NodeKind::kDivide) {
    (inverted ? out.below : out.above).push_back(node);
    return;
  }
  find_factors(body, n.left, inverted, out);
  find_factors(body, n.right, inverted != (n.kind == NodeKind::kDivide), out);
}

bool uses_reduced_axis(const Stage& s, int node) {
  bool out = false;
  std::vector<Node> part;
  append(part, s.body, node, [&](int read) {
    for (const Coordinate& c : s.reads[static_cast<std::size_t>(read)].at)
      for (const Term& t : c.terms) out = out || s.axes[static_cast<std::size_t>(t.axis)].reduction;
    return read;
  });
  for (const Node& n : part)
    if (n.kind == NodeKind::kIndex)
      for (const Term& t : s.indices[static_cast<std::size_t>(n.index)].terms)
        out = out || s.axes[static_cast<std::size_t>(t.axis)].reduction;
  return out;
}

// Splits the factors of a stage's body into those that stay in its sum and those that leave it.
std::pair<Factors, Factors> split_factors(const Stage& s) {
  Factors all, stay, leave;
  find_factors(s.body, static_cast<int>(s.body.size()) - 1, false, all);
  for (const int n : all.above) (uses_reduced_axis(s, n) ? stay : leave).above.push_back(n);
  for (const int n : all.below) (uses_reduced_axis(s, n) ? stay : leave).below.push_back(n);
  if (stay.above.empty()) {  // the 1 of 1/X[n] stays
    const auto number = std::find_if(leave.above.begin(), leave.above.end(), [&](int n) {
      return s.body[static_cast<std::size_t>(n)].kind == NodeKind::kNumber;
    });
    if (number != leave.above.end()) {
      stay.above.push_back(*number);
      leave.above.erase(number);
    }
  }
  return {stay, leave};
}

// Multiplies and divides the last node of `to` by nodes of `from`; an empty `to` begins with the first factor, or 1.
void append_product(std::vector<Node>& to, const std::vector<Node>& from, const Factors& factors) {
  const auto append_all = [&](const std::vector<int>& nodes, NodeKind kind) {
    for (const int node : nodes) {
      const int left = static_cast<int>(to.size()) - 1;
      const int right = append(to, from, node, [](int read) { return read; });
      if (left >= 0) to.push_back({.kind = kind, .left = left, .right = right});
    }
  };
  if (to.empty() && factors.above.empty()) to.push_back({.kind = NodeKind::kNumber, .number = 1});
  append_all(factors.above, NodeKind::kMultiply);
  append_all(factors.below, NodeKind::kDivide);
}

// `name`_sum, or with a number behind where something is called so.
std::string new_name(const Expression& e, const std::string& name) {
  const auto taken = [&](const std::string& word) {
    return find_tensor(e, word) || std::find(e.scalars.begin(), e.scalars.end(), word) != e.scalars.end() ||
           std::any_of(e.stages.begin(), e.stages.end(), [&](const Stage& s) { return find_axis(s, word); });
  };
  std::string out = name + "_sum";
  for (int n = 2; taken(out); ++n) out = fmt::format("{}_sum{}", name, n);
  return out;
}

std::string factoring_refusal(const Expression& e, const Stage& s) {
  const Tensor& t = output_of(e, s);
  if (s.reducer != Reducer::kSum && s.reducer != Reducer::kMean) return fmt::format("'{}' is no sum or mean", t.name);
  if (s.spatial_count() == s.axes.size()) return fmt::format("'{}' is summed over no axis", t.name);
  if (base::is_integer(t.dtype)) return fmt::format("'{}' is a sum of integers, which wrap", t.name);
  if (split_factors(s).second.empty())
    return fmt::format("no factor of '{}' is the same for all steps of its sum", t.name);
  return {};
}

}  // namespace

std::optional<Expression> factor_out(const Expression& e, std::size_t stage, std::string& refusal) {
  base::check(stage < e.stages.size(), "the stage of the factor is one of the expression's");
  refusal = factoring_refusal(e, e.stages[stage]);
  if (!refusal.empty()) return std::nullopt;
  Expression raw = e;
  Stage& sum = raw.stages[stage];
  const auto [stay, leave] = split_factors(sum);
  const Tensor& out = output_of(e, sum);
  Tensor partial = out;
  partial.name = new_name(e, out.name);

  Stage scaled = sum;
  scaled.reducer = Reducer::kNone;
  scaled.axes.resize(sum.spatial_count());
  Read partial_at{static_cast<int>(e.tensors.size()), {}};
  for (std::size_t a = 0; a < scaled.axes.size(); ++a) partial_at.at.push_back({{{static_cast<int>(a)}}});
  scaled.body = {{.kind = NodeKind::kRead, .index = static_cast<int>(scaled.reads.size())}};
  scaled.reads.push_back(partial_at);
  append_product(scaled.body, sum.body, leave);

  std::vector<Node> body;
  append_product(body, sum.body, stay);
  sum.body = std::move(body);
  sum.output = partial_at.tensor;
  raw.notes = notes_of_rewriting(e);
  if (is_narrow_float(out.dtype))
    raw.notes.push_back(
        fmt::format("'{}' is rounded to {} before the factors of '{}'", partial.name, name_of(out.dtype), out.name));
  raw.tensors.push_back(std::move(partial));
  raw.stages.insert(raw.stages.begin() + static_cast<std::ptrdiff_t>(stage) + 1, std::move(scaled));
  return rebuilt(raw, refusal);
}

namespace {

// Whether a factor that leaves the sum reads what a stage writes.
bool computed_factor_leaves(const Expression& e, const Stage& s) {
  const Factors leave = split_factors(s).second;
  bool computed = false;
  std::vector<Node> part;
  for (const std::vector<int>& nodes : {leave.above, leave.below})
    for (const int node : nodes)
      append(part, s.body, node, [&](int read) {
        const int tensor = s.reads[static_cast<std::size_t>(read)].tensor;
        computed = computed || e.tensors[static_cast<std::size_t>(tensor)].producer != kInput;
        return read;
      });
  return computed;
}

// One stage inlined and its factor taken out of one sum.
std::optional<Expression> one_quotient_behind(const Expression& e) {
  std::string refusal;
  for (std::size_t front = 0; front < e.stages.size(); ++front) {
    if (e.stages[front].reducer != Reducer::kNone) continue;
    const auto without = inlined(e, front, refusal);
    if (!without) continue;
    const std::string& name = output_of(e, e.stages[front]).name;
    for (std::size_t s = 0; s < without->stages.size(); ++s) {
      const Stage& sum = without->stages[s];
      const std::string& output = output_of(*without, sum).name;
      const auto before = std::find_if(e.stages.begin(), e.stages.end(),
                                       [&](const Stage& b) { return output_of(e, b).name == output; });
      const bool reads = std::any_of(before->reads.begin(), before->reads.end(), [&](const Read& r) {
        return e.tensors[static_cast<std::size_t>(r.tensor)].name == name;
      });
      if (!reads || !factoring_refusal(*without, sum).empty() || !computed_factor_leaves(*without, sum)) continue;
      if (auto out = factor_out(*without, s, refusal)) return out;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Expression> with_divisions_sunk(const Expression& e) {
  std::optional<Expression> out = one_quotient_behind(e);
  for (std::size_t n = 1; out && n < kMaxStages; ++n) {
    auto next = one_quotient_behind(*out);
    if (!next) break;
    out = std::move(next);
  }
  return out;
}

}  // namespace tilescope::expr

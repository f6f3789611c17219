// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/indices.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/integer.h"
#include "expr/extent.h"

namespace tilescope::expr {
namespace {

// As in coordinates: no sum of such numbers overflows.
constexpr std::int64_t kGreatest = std::int64_t{1} << 40;

bool is_comparison(const Node& n) {
  return n.kind == NodeKind::kCall && n.function >= Function::kLess && n.function <= Function::kNotEqual;
}

// left + factor * right; nothing where a number of it is too great.
std::optional<Coordinate> sum(Coordinate left, const Coordinate& right, std::int64_t factor) {
  const auto add = [&](std::int64_t& to, std::int64_t n) {
    const auto scaled = base::checked_mul(n, factor);
    if (!scaled || std::abs(*scaled) > kGreatest) return false;
    to += *scaled;
    return std::abs(to) <= kGreatest;
  };
  for (const Term& t : right.terms) {
    auto same = std::find_if(left.terms.begin(), left.terms.end(), [&](const Term& o) { return o.axis == t.axis; });
    if (same == left.terms.end()) {
      left.terms.push_back({t.axis, 0});
      same = left.terms.end() - 1;
    }
    if (!add(same->coefficient, t.coefficient)) return std::nullopt;
  }
  if (!add(left.offset, right.offset)) return std::nullopt;
  Coordinate out = left;
  out.terms.clear();
  for (const Term& t : left.terms)
    if (t.coefficient != 0) out.terms.push_back(t);
  return out;
}

class Indices {
 public:
  explicit Indices(Stage& stage) : stage_(stage), integer_(stage.body.size()) {
    for (std::size_t n = 0; n < integer_.size(); ++n) integer_[n] = integer_of(stage.body[n]);
  }

  void take() {
    emit(static_cast<int>(stage_.body.size()) - 1);
    stage_.body = std::move(body_);
    stage_.indices = std::move(indices_);
  }

 private:
  const std::optional<Coordinate>& integer(int node) const { return integer_[static_cast<std::size_t>(node)]; }

  // The node as an integer over the axes, which may have none.
  std::optional<Coordinate> integer_of(const Node& n) const {
    const auto combined = [&](std::int64_t factor) -> std::optional<Coordinate> {
      return sum(*integer(n.left), *integer(n.right), factor);
    };
    const auto affine = [&](int node) { return integer(node) && integer(node)->affine(); };
    if (n.kind == NodeKind::kCall) return remainder_or_quotient(n);
    for (const int operand : {n.left, n.right})
      if (operand >= 0 && !affine(operand)) return std::nullopt;
    switch (n.kind) {
      case NodeKind::kNumber:
        if (std::trunc(n.number) != n.number || std::abs(n.number) > static_cast<double>(kGreatest))
          return std::nullopt;
        return Coordinate{{}, static_cast<std::int64_t>(n.number)};
      case NodeKind::kIndex:
        return stage_.indices[static_cast<std::size_t>(n.index)];
      case NodeKind::kNegate:
        return sum({}, *integer(n.left), -1);
      case NodeKind::kAdd:
        return combined(1);
      case NodeKind::kSubtract:
        return combined(-1);
      case NodeKind::kMultiply: {
        const bool left_varies = !integer(n.left)->terms.empty();
        if (left_varies && !integer(n.right)->terms.empty()) return std::nullopt;
        const Coordinate &varies = left_varies ? *integer(n.left) : *integer(n.right),
                         &factor = left_varies ? *integer(n.right) : *integer(n.left);
        return sum({}, varies, factor.offset);
      }
      default:
        return std::nullopt;
    }
  }

  // `sum % 4`, `floor(sum / 4)`
  std::optional<Coordinate> remainder_or_quotient(const Node& n) const {
    const bool quotient = n.function == Function::kFloor;
    if (!quotient && n.function != Function::kMod) return std::nullopt;
    const Node& of = quotient ? stage_.body[static_cast<std::size_t>(n.left)] : n;
    if (quotient && of.kind != NodeKind::kDivide) return std::nullopt;
    const auto &sum = integer(of.left), &by = integer(of.right);
    if (!sum || !sum->affine() || sum->terms.empty() || !by || !by->terms.empty() || by->offset < 1)
      return std::nullopt;
    Coordinate out = *sum;
    (quotient ? out.divisor : out.modulus) = by->offset;
    return out;
  }

  bool varies(int node) const { return integer(node) && !integer(node)->terms.empty(); }

  int emit(int node) {
    Node n = stage_.body[static_cast<std::size_t>(node)];
    if (varies(node)) return emit(*integer(node));
    if (is_comparison(n) && integer(n.left) && integer(n.right) && (varies(n.left) || varies(n.right)))
      if (const auto difference = this->difference(*integer(n.left), *integer(n.right))) {
        n.left = emit(*difference);
        n.right = push({.kind = NodeKind::kNumber});
        return push(n);
      }
    for_each_operand(n, [&](int& operand) { operand = emit(operand); });
    return push(n);
  }

  // Of remainders and quotients only that with 0.
  static std::optional<Coordinate> difference(const Coordinate& left, const Coordinate& right) {
    if (right == Coordinate{}) return left;
    return left.affine() && right.affine() ? sum(left, right, -1) : std::nullopt;
  }

  int emit(const Coordinate& c) {
    const auto known = std::find(indices_.begin(), indices_.end(), c);
    const auto index = static_cast<int>(known - indices_.begin());
    if (known == indices_.end()) indices_.push_back(c);
    return push({.kind = NodeKind::kIndex, .index = index});
  }

  int push(const Node& n) {
    body_.push_back(n);
    return static_cast<int>(body_.size()) - 1;
  }

  Stage& stage_;
  std::vector<std::optional<Coordinate>> integer_;  // by node
  std::vector<Node> body_;
  std::vector<Coordinate> indices_;
};

}  // namespace

namespace {

class Choices {
 public:
  Choices(const Expression& e, const std::vector<std::optional<double>>& outside, Stage& stage)
      : e_(e), outside_(outside), stage_(stage) {
    for (const Axis& a : stage.axes) sizes_.push_back(a.size);
  }

  void make() {
    std::vector<int> moved;
    for (Node n : stage_.body) {
      for_each_operand(n, [&](int& operand) { operand = moved[static_cast<std::size_t>(operand)]; });
      moved.push_back(n.kind == NodeKind::kRead ? read(n) : push(n));
    }
    stage_.body = std::move(body_);
  }

 private:
  int read(const Node& n) {
    const auto r = static_cast<std::size_t>(n.index);
    int inside = -1;
    if (outside_[r])
      for (std::size_t d = 0; d < stage_.reads[r].at.size(); ++d) {
        const Coordinate& c = stage_.reads[r].at[d];
        const std::int64_t extent = e_.tensors[static_cast<std::size_t>(stage_.reads[r].tensor)].shape[d];
        const auto span = span_of(c, sizes_);
        if (!span || span->low < 0) inside = both(inside, compared(c, Function::kGreaterEqual, 0));
        if (!span || span->high >= extent) inside = both(inside, compared(c, Function::kLess, extent));
      }
    const int value = push(n);
    if (inside < 0) return value;
    const int other = push({.kind = NodeKind::kNumber, .number = *outside_[r]});
    return push(
        {.kind = NodeKind::kCall, .function = Function::kSelect, .left = inside, .right = value, .third = other});
  }

  int compared(Coordinate c, Function by, std::int64_t bound) {
    if (c.affine()) c.offset -= std::exchange(bound, 0);
    const int left = push({.kind = NodeKind::kIndex, .index = static_cast<int>(stage_.indices.size())});
    stage_.indices.push_back(c);
    const int right = push({.kind = NodeKind::kNumber, .number = static_cast<double>(bound)});
    return push({.kind = NodeKind::kCall, .function = by, .left = left, .right = right});
  }

  int both(int left, int right) {
    return left < 0 ? right : push({.kind = NodeKind::kCall, .function = Function::kAnd, .left = left, .right = right});
  }

  int push(const Node& n) {
    body_.push_back(n);
    return static_cast<int>(body_.size()) - 1;
  }

  const Expression& e_;
  const std::vector<std::optional<double>>& outside_;
  Stage& stage_;
  std::vector<std::int64_t> sizes_;
  std::vector<Node> body_;
};

}  // namespace

void choose_outside(const Expression& e, const std::vector<std::optional<double>>& outside, Stage& stage) {
  const bool given = std::any_of(outside.begin(), outside.end(), [](const auto& v) { return v.has_value(); });
  if (given) Choices(e, outside, stage).make();
}

void take_indices_together(Stage& stage) {
  if (!stage.indices.empty()) Indices(stage).take();
}

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#include "expr/live_terms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/integer.h"
#include "expr/extent.h"
#include "expr/infer.h"
#include "expr/reference.h"

namespace tilescope::expr {
namespace {

// No sum of a few such numbers overflows.
constexpr std::int64_t kGreatestTerm = std::int64_t{1} << 40;

// factor * coordinate + add >= 0; nothing where a number of it is too great.
std::optional<HalfSpace> half_space(const Coordinate& c, std::int64_t factor, std::int64_t add) {
  HalfSpace h{{}, factor * c.offset + add};
  for (const Term& t : c.terms) {
    if (std::abs(t.coefficient) > kGreatestTerm) return std::nullopt;
    h.terms.push_back({t.axis, factor * t.coefficient});
  }
  std::sort(h.terms.begin(), h.terms.end(), [](const Term& x, const Term& y) { return x.axis < y.axis; });
  if (std::abs(h.offset) > kGreatestTerm || h.terms.empty()) return std::nullopt;
  return h;
}

// Where a comparison with 0 holds.
std::optional<HalfSpace> where_holds(const Coordinate& c, Function by) {
  switch (by) {
    case Function::kLess:
      return half_space(c, -1, -1);
    case Function::kLessEqual:
      return half_space(c, -1, 0);
    case Function::kGreater:
      return half_space(c, 1, -1);
    case Function::kGreaterEqual:
      return half_space(c, 1, 0);
    default:
      return std::nullopt;
  }
}

HalfSpace opposite(const HalfSpace& h) {
  HalfSpace out{{}, -h.offset - 1};
  for (const Term& t : h.terms) out.terms.push_back({t.axis, -t.coefficient});
  return out;
}

// What is known of a stage's values, by a tensor's name, over the tensor's dimensions.
using Known = std::map<std::string, std::vector<LiveTerms>>;

class StageValues {
 public:
  StageValues(const Expression& e, const Known& known) : e_(e), stage_(e.stages.front()), known_(known) {
    for (const Axis& a : stage_.axes) sizes_.push_back(a.size);
    for (const Read& r : stage_.reads) of_reads_.push_back(of_read(r));
    for (std::size_t n = 0; n < stage_.body.size(); ++n) conditions_.push_back(condition(n));
  }

  // Where the body has one value.
  std::vector<LiveTerms> all() const {
    std::vector<LiveTerms> out;
    const auto add = [&](const HalfSpace& h) {
      const bool there = std::any_of(out.begin(), out.end(), [&](const LiveTerms& l) { return l.inside == h; });
      const std::optional<double> value = there ? std::nullopt : value_outside(h);
      if (value && !std::isnan(*value)) out.push_back({h, *value});
    };
    for (const auto& c : conditions_)
      if (c) add(*c), add(opposite(*c));
    for (const auto& of_read : of_reads_)
      for (const LiveTerms& l : of_read) add(l.inside);
    return out;
  }

 private:
  // Over the stage's axes, what is known of the tensor that it reads there.
  std::vector<LiveTerms> of_read(const Read& r) const {
    std::vector<LiveTerms> out;
    const Tensor& t = e_.tensors[static_cast<std::size_t>(r.tensor)];
    const auto found = known_.find(t.name);
    if (found == known_.end()) return out;
    for (std::size_t d = 0; d < r.at.size(); ++d) {
      const auto span = r.at[d].affine() ? span_of(r.at[d], sizes_) : std::nullopt;
      if (!span || span->low < 0 || span->high >= t.shape[d]) return out;
    }
    for (const LiveTerms& l : found->second)
      if (const auto h = substituted(l.inside, r)) out.push_back({*h, l.value});
    return out;
  }

  static std::optional<HalfSpace> substituted(const HalfSpace& h, const Read& r) {
    std::map<int, std::int64_t> terms;
    Coordinate sum{{}, h.offset};
    for (const Term& dim : h.terms) {
      const Coordinate& at = r.at[static_cast<std::size_t>(dim.axis)];
      for (const Term& t : at.terms) {
        const auto product = base::checked_mul(dim.coefficient, t.coefficient);
        if (!product || std::abs(*product) > kGreatestTerm) return std::nullopt;
        terms[t.axis] += *product;
      }
      const auto offset = base::checked_mul(dim.coefficient, at.offset);
      if (!offset || std::abs(*offset) > kGreatestTerm) return std::nullopt;
      sum.offset += *offset;
    }
    for (const auto& [axis, coefficient] : terms)
      if (coefficient != 0) sum.terms.push_back({axis, coefficient});
    return half_space(sum, 1, 0);
  }

  // Where a node holds that compares an index with 0.
  std::optional<HalfSpace> condition(std::size_t n) const {
    if (n < 2 || !is_compared_index(stage_.body, n - 2)) return std::nullopt;
    const Coordinate& c = stage_.indices[static_cast<std::size_t>(stage_.body[n - 2].index)];
    return c.affine() ? where_holds(c, stage_.body[n].function) : std::nullopt;
  }

  // Whether a condition holds outside of the half-space, where that decides it.
  static std::optional<bool> holds_outside(const HalfSpace& condition, const HalfSpace& of) {
    if (condition.terms == of.terms && condition.offset <= of.offset) return false;
    const HalfSpace other = opposite(condition);
    if (other.terms == of.terms && other.offset <= of.offset) return true;
    return std::nullopt;
  }

  std::optional<double> value_outside(const HalfSpace& h) const {
    std::vector<std::optional<double>> values;
    for (std::size_t n = 0; n < stage_.body.size(); ++n) values.push_back(value(n, h, values));
    return values.back();
  }

  std::optional<double> value(std::size_t number, const HalfSpace& h,
                              const std::vector<std::optional<double>>& values) const {
    const Node& n = stage_.body[number];
    const auto of = [&](int operand) { return operand < 0 ? std::nullopt : values[static_cast<std::size_t>(operand)]; };
    const auto left = of(n.left), right = of(n.right);
    switch (n.kind) {
      case NodeKind::kNumber:
        return n.number;
      case NodeKind::kRead:
        for (const LiveTerms& l : of_reads_[static_cast<std::size_t>(n.index)])
          if (holds_outside(l.inside, h) == false) return l.value;
        return std::nullopt;
      case NodeKind::kScalar:
      case NodeKind::kIndex:
        return std::nullopt;
      case NodeKind::kNegate:
        return left ? std::optional(-*left) : std::nullopt;
      case NodeKind::kAdd:
      case NodeKind::kSubtract:
        return sum(left, right, n.kind == NodeKind::kAdd ? 1 : -1);
      case NodeKind::kMultiply:
        if (left == 0.0 || right == 0.0) return 0.0;
        return left && right ? std::optional(*left * *right) : std::nullopt;
      case NodeKind::kDivide:
        if (left == 0.0 && right != 0.0) return 0.0;
        return left && right ? std::optional(*left / *right) : std::nullopt;
      case NodeKind::kCall:
        break;
    }
    if (conditions_[number])
      if (const auto holds = holds_outside(*conditions_[number], h)) return *holds ? 1.0 : 0.0;
    switch (n.function) {
      case Function::kAnd:
        if (left == 0.0 || right == 0.0) return 0.0;
        break;
      case Function::kOr:
        if ((left && *left != 0) || (right && *right != 0)) return 1.0;
        break;
      case Function::kSelect:
        return left ? of(*left != 0 ? n.right : n.third) : std::nullopt;
      default:
        break;
    }
    return of_known(n, values);
  }

  static std::optional<double> sum(const std::optional<double>& left, const std::optional<double>& right, double sign) {
    if (left && right) return *left + sign * *right;
    if (left && std::isinf(*left)) return left;
    if (right && std::isinf(*right)) return sign * *right;
    return std::nullopt;
  }

  std::optional<double> of_known(const Node& n, const std::vector<std::optional<double>>& values) const {
    std::vector<double> nodes(values.size(), 0.0);
    bool known = true;
    for_each_operand(n, [&](const int& operand) {
      const std::optional<double>& v = values[static_cast<std::size_t>(operand)];
      known = known && v;
      if (v) nodes[static_cast<std::size_t>(operand)] = *v;
    });
    return known ? std::optional(apply(stage_.body, n, Numbers::kReal, nodes)) : std::nullopt;
  }

  const Expression& e_;
  const Stage& stage_;
  const Known& known_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::vector<LiveTerms>> of_reads_;      // by read
  std::vector<std::optional<HalfSpace>> conditions_;  // by node
};

// The reduction of terms that all have that value, however many there are; nothing where their number decides it.
std::optional<double> reduced(Reducer r, double value) {
  const bool multiplied = r == Reducer::kSum || r == Reducer::kProduct;
  if (!multiplied || value == identity(r) || (r == Reducer::kSum && std::isinf(value))) return value;
  return std::nullopt;
}

// The half-space over the axes of the stage that writes a tensor, whose first axes are its dimensions; nothing where
// the read does not name the element by one axis a dimension.
std::optional<HalfSpace> of_writer(const HalfSpace& h, const Read& read) {
  Coordinate over{{}, h.offset};
  for (const Term& t : h.terms) {
    const auto names_axis = [&t](const Coordinate& c) {
      return c.affine() && c.offset == 0 && c.terms.size() == 1 && c.terms[0].axis == t.axis &&
             c.terms[0].coefficient == 1;
    };
    const auto dim = std::find_if(read.at.begin(), read.at.end(), names_axis);
    if (dim == read.at.end()) return std::nullopt;
    over.terms.push_back({static_cast<int>(dim - read.at.begin()), t.coefficient});
  }
  return half_space(over, 1, 0);
}

// Half-spaces outside of which no stage after `writer` needs its tensor; empty where one needs all, or none reads it.
std::vector<HalfSpace> needed_by_readers(const Expression& e, std::size_t writer,
                                         const std::vector<std::vector<HalfSpace>>& needed) {
  std::optional<std::vector<HalfSpace>> common;
  for (std::size_t s = writer + 1; s < e.stages.size(); ++s)
    for (const Read& r : e.stages[s].reads) {
      if (r.tensor != e.stages[writer].output) continue;
      std::vector<HalfSpace> of_read;
      for (const HalfSpace& h : needed[s])
        if (const auto over = of_writer(h, r)) of_read.push_back(*over);
      if (!common) {
        common = std::move(of_read);
        continue;
      }
      const auto elsewhere = [&of_read](const HalfSpace& h) {
        return std::find(of_read.begin(), of_read.end(), h) == of_read.end();
      };
      common->erase(std::remove_if(common->begin(), common->end(), elsewhere), common->end());
    }
  return common.value_or(std::vector<HalfSpace>());
}

}  // namespace

double share_inside(const HalfSpace& h, const std::vector<Axis>& axes) {
  if (h.terms.size() > 2) return 0;
  const auto size = [&](std::size_t term) { return axes[static_cast<std::size_t>(h.terms[term].axis)].size; };
  const std::int64_t others = h.terms.size() == 2 ? size(1) : 1, pace = std::abs(h.terms[0].coefficient);
  double inside = 0;
  for (std::int64_t y = 0; y < others; ++y) {
    const std::int64_t rest = h.offset + (h.terms.size() == 2 ? h.terms[1].coefficient * y : 0);
    // How many values of the first axis lie below zero.
    const std::int64_t least = rest + (h.terms[0].coefficient < 0 ? h.terms[0].coefficient * (size(0) - 1) : 0);
    const std::int64_t below = least < 0 ? (-least - 1) / pace + 1 : 0;
    inside += static_cast<double>(size(0) - std::min(size(0), below));
  }
  return inside / static_cast<double>(size(0) * others);
}

double least_share(const std::vector<HalfSpace>& inside, const Stage& stage) {
  double least = 1;
  for (const HalfSpace& h : inside) least -= 1 - share_inside(h, stage.axes);
  return std::max(0.0, least);
}

std::int64_t HalfSpace::coefficient(int axis) const {
  for (const Term& t : terms)
    if (t.axis == axis) return t.coefficient;
  return 0;
}

bool compares_indices(const Stage& stage) {
  for (std::size_t n = 0; n < stage.body.size(); ++n)
    if (is_compared_index(stage.body, n)) return true;
  return false;
}

std::vector<std::vector<LiveTerms>> live_terms(const std::vector<const Expression*>& stages) {
  Known known;
  std::vector<std::vector<LiveTerms>> out;
  for (const Expression* e : stages) {
    const Stage& stage = e->stages.front();
    const std::vector<LiveTerms> of_body = StageValues(*e, known).all();
    const auto spatial = static_cast<int>(stage.spatial_count());
    std::vector<LiveTerms>& of_stage = out.emplace_back();
    const Tensor& tensor = e->tensors[static_cast<std::size_t>(stage.output)];
    std::vector<LiveTerms>& of_tensor = known[tensor.name];
    of_tensor.clear();
    for (const LiveTerms& l : of_body) {
      if (stage.reducer == Reducer::kNone || l.value == identity(stage.reducer)) of_stage.push_back(l);
      const auto value = reduced(stage.reducer, l.value);
      if (value && round_to(tensor.dtype, *value) == *value &&
          std::all_of(l.inside.terms.begin(), l.inside.terms.end(), [&](const Term& t) { return t.axis < spatial; }))
        of_tensor.push_back({l.inside, *value});
    }
  }
  return out;
}

std::vector<std::vector<HalfSpace>> needed_terms(const Expression& whole) {
  std::vector<std::vector<HalfSpace>> needed(whole.stages.size());
  if (std::none_of(whole.stages.begin(), whole.stages.end(), compares_indices)) return needed;
  std::vector<Expression> alone;
  std::vector<const Expression*> in_order;
  for (std::size_t s = 0; s < whole.stages.size(); ++s) alone.push_back(single_stage(whole, s));
  for (const Expression& e : alone) in_order.push_back(&e);
  const auto live = live_terms(in_order);
  for (std::size_t s = whole.stages.size(); s-- > 0;) {
    needed[s] = needed_by_readers(whole, s, needed);
    for (const LiveTerms& l : live[s])
      if (std::find(needed[s].begin(), needed[s].end(), l.inside) == needed[s].end()) needed[s].push_back(l.inside);
  }
  return needed;
}

}  // namespace tilescope::expr

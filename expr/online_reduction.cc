// SPDX-License-Identifier: Apache-2.0
#include "expr/online_reduction.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "expr/detail/compose.h"
#include "expr/detail/rebuild.h"
#include "expr/extent.h"
#include "expr/reference.h"

namespace tilescope::expr {
namespace {

// How a value hangs on a running one: not at all, as `coefficient` times it plus what is free of it, or as
// exp(coefficient * it) times what is free of it.
struct Dependence {
  enum Kind : std::uint8_t { kFree, kShifted, kScaled } kind = kFree;
  Rescaling on = {};

  bool free() const { return kind == kFree; }
};

bool is_sum(Reducer r) { return r == Reducer::kSum || r == Reducer::kMean; }
bool is_extremum(Reducer r) { return r == Reducer::kMax || r == Reducer::kMin; }

bool same_element(const Rescaling& a, const Rescaling& b) { return a.extremum == b.extremum && a.at == b.at; }

const std::string& output_name(const LoopStage& s) { return output_of(*s.expression, s.stage()).name; }

class Carrying {
 public:
  Carrying(const std::vector<LoopStage>& loop, std::string& refusal) : loop_(loop), refusal_(refusal) {
    refusal_.clear();
  }

  std::optional<std::vector<std::optional<Rescaling>>> all() {
    std::vector<std::optional<Rescaling>> out;
    for (std::size_t s = 0; s < loop_.size(); ++s) {
      out.push_back(take(s));
      if (!refusal_.empty()) return std::nullopt;
      written_[output_name(loop_[s])] = s;
    }
    std::map<std::size_t, double> coefficients;
    for (const auto& r : out)
      if (r && coefficients.try_emplace(r->extremum, r->coefficient).first->second != r->coefficient)
        refuse(fmt::format("'{}' is multiplied by different numbers in exponents", output_name(loop_[r->extremum])));
    if (!refusal_.empty()) return std::nullopt;
    return out;
  }

 private:
  Dependence refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    return {};
  }

  // Notes how the stage's output hangs on running values; of a sum that is carried on its rescaling.
  std::optional<Rescaling> take(std::size_t s) {
    const LoopStage& l = loop_[s];
    const Stage& stage = l.stage();
    const std::string& name = output_name(l);
    const Dependence body = dependence_of_body(l);
    if (!refusal_.empty()) return std::nullopt;
    results_.push_back(body);
    if (stage.reducer == Reducer::kNone || body.free()) return std::nullopt;
    const std::string& running = output_name(loop_[body.on.extremum]);
    if (!is_sum(stage.reducer) || body.kind != Dependence::kScaled) {
      refuse(fmt::format("'{}' reduces what '{}' is part of, and not as a factor of a sum", name, running));
    } else if (std::any_of(body.on.at.begin(), body.on.at.end(), [&](const Coordinate& c) {
                 return std::any_of(c.terms.begin(), c.terms.end(), [&](const Term& t) {
                   return stage.axes[static_cast<std::size_t>(t.axis)].reduction;
                 });
               })) {
      refuse(fmt::format("'{}' sums over several elements of '{}'", name, running));
    } else if (l.carried()) {
      const bool grows = (loop_[body.on.extremum].stage().reducer == Reducer::kMax) == (body.on.coefficient > 0);
      if (base::is_integer(output_of(*l.expression, stage).dtype))
        refuse(fmt::format("'{}' is a sum of integers, which are not rescaled", name));
      else if (grows)
        refuse(fmt::format("'{}' would be multiplied by more than one as '{}' runs", name, running));
      else
        return body.on;
    }
    return std::nullopt;
  }

  Dependence dependence_of_body(const LoopStage& l) {
    std::vector<Dependence> nodes;
    for (const Node& n : l.stage().body) {
      nodes.push_back(dependence_of(l, n, nodes));
      if (!refusal_.empty()) return {};
    }
    return nodes.back();
  }

  Dependence dependence_of_read(const LoopStage& l, const Read& read) {
    const Tensor& t = l.expression->tensors[static_cast<std::size_t>(read.tensor)];
    const auto found = written_.find(t.name);
    if (found == written_.end()) return {};
    const LoopStage& writer = loop_[found->second];
    const Reducer reducer = writer.stage().reducer;
    if (writer.carried() && !is_extremum(reducer))
      return refuse(fmt::format("'{}' is read before it is whole, and it is no maximum or minimum", t.name));
    Dependence out = results_[found->second];
    if (writer.carried()) {
      if (base::is_integer(t.dtype)) return refuse(fmt::format("'{}' is of integers, which have no infinity", t.name));
      out = {Dependence::kShifted, {found->second, read.at, 1}};
    } else if (!out.free()) {
      for (Coordinate& c : out.on.at) {
        const auto moved = composed(c, read.at, sizes_of(l.stage()));
        if (!moved)
          return refuse(fmt::format("a coordinate of '{}' has no notation", output_name(loop_[out.on.extremum])));
        c = *moved;
      }
    }
    // What lies outside is zero, which hangs on nothing.
    if (out.kind == Dependence::kShifted)
      for (std::size_t d = 0; d < read.at.size(); ++d)
        if (const auto span = span_of(read.at[d], sizes_of(l.stage()));
            !span || span->low < 0 || span->high >= t.shape[d])
          return refuse(fmt::format("'{}' is read outside at an edge", t.name));
    return out;
  }

  Dependence dependence_of(const LoopStage& l, const Node& n, const std::vector<Dependence>& nodes) {
    const auto operand = [&](int node) { return node < 0 ? Dependence{} : nodes[static_cast<std::size_t>(node)]; };
    const Dependence a = operand(n.left), b = operand(n.right), c = operand(n.third);
    switch (n.kind) {
      case NodeKind::kNumber:
      case NodeKind::kScalar:
      case NodeKind::kIndex:
        return {};
      case NodeKind::kRead:
        return dependence_of_read(l, l.stage().reads[static_cast<std::size_t>(n.index)]);
      case NodeKind::kNegate:
        return times(a, a.kind == Dependence::kShifted ? -1 : 1);
      case NodeKind::kAdd:
        return sum(l, a, b, 1);
      case NodeKind::kSubtract:
        return sum(l, a, b, -1);
      case NodeKind::kMultiply:
        if (const auto number = number_of(l, n.right); number && a.kind == Dependence::kShifted)
          return times(a, *number);
        if (const auto number = number_of(l, n.left); number && b.kind == Dependence::kShifted)
          return times(b, *number);
        return product(l, a, b, 1);
      case NodeKind::kDivide:
        if (const auto number = number_of(l, n.right); number && a.kind == Dependence::kShifted)
          return times(a, 1 / *number);
        return product(l, a, b, -1);
      case NodeKind::kCall:
        if (a.free() && b.free() && c.free()) return {};
        if (n.function == Function::kExp && a.kind == Dependence::kShifted) return {Dependence::kScaled, a.on};
        if ((n.function == Function::kRelu || n.function == Function::kAbs) && a.kind == Dependence::kScaled)
          return Dependence(a);
        return misused(l, !a.free() ? a : !b.free() ? b : c);
    }
    return {};
  }

  Dependence misused(const LoopStage& l, const Dependence& d) {
    return refuse(fmt::format("'{}' hangs on '{}', which runs, by more than a factor exp(c*{})", output_name(l),
                              output_name(loop_[d.on.extremum]), output_name(loop_[d.on.extremum])));
  }

  static std::optional<double> number_of(const LoopStage& l, int node) {
    const Node& n = l.stage().body[static_cast<std::size_t>(node)];
    if (n.kind == NodeKind::kNumber) return n.number;
    if (n.kind != NodeKind::kNegate) return std::nullopt;
    const auto of = number_of(l, n.left);
    return of ? std::optional(-*of) : std::nullopt;
  }

  static Dependence times(Dependence d, double factor) {
    d.on.coefficient *= factor;
    return d.on.coefficient == 0 ? Dependence{} : d;
  }

  Dependence sum(const LoopStage& l, Dependence a, const Dependence& b, double sign) {
    if (a.free() && b.free()) return {};
    if (a.kind == Dependence::kShifted && b.free()) return a;
    if (a.free() && b.kind == Dependence::kShifted) return times(b, sign);
    if (a.kind == b.kind && same_element(a.on, b.on)) {
      if (a.kind == Dependence::kShifted) {
        a.on.coefficient += sign * b.on.coefficient;
        return times(a, 1);
      }
      if (a.on.coefficient == b.on.coefficient) return a;
    }
    return misused(l, a.free() ? b : a);
  }

  Dependence product(const LoopStage& l, Dependence a, Dependence b, double power) {
    if (a.free() && b.free()) return {};
    b.on.coefficient *= power;
    if (a.kind == Dependence::kScaled && b.free()) return a;
    if (a.free() && b.kind == Dependence::kScaled) return b;
    if (a.kind == Dependence::kScaled && b.kind == Dependence::kScaled && same_element(a.on, b.on)) {
      a.on.coefficient += b.on.coefficient;
      return times(a, 1);
    }
    return misused(l, a.free() ? b : a);
  }

  const std::vector<LoopStage>& loop_;
  std::string& refusal_;
  std::map<std::string, std::size_t> written_;  // tensors of the loop's stages so far
  std::vector<Dependence> results_;             // of those stages
};

}  // namespace

std::optional<std::vector<std::optional<Rescaling>>> carried_on(const std::vector<LoopStage>& loop,
                                                                std::string& refusal) {
  return Carrying(loop, refusal).all();
}

double furthest_finite(Reducer r, base::Dtype dtype) {
  return r == Reducer::kMax ? -greatest_of(dtype) : greatest_of(dtype);
}

}  // namespace tilescope::expr

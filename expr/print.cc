// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/print.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "expr/parse.h"
#include "expr/tables.h"

namespace tilescope::expr {
namespace {

// The term with its sign, which a first term shows only where it is negative.
std::string to_text(const Stage& stage, const Term& t, bool first) {
  const std::string& axis = stage.axes[static_cast<std::size_t>(t.axis)].name;
  const std::string sign = t.coefficient < 0 ? "-" : first ? "" : "+";
  const std::uint64_t bits = static_cast<std::uint64_t>(t.coefficient);
  const std::uint64_t magnitude = t.coefficient < 0 ? -bits : bits;
  return magnitude == 1 ? sign + axis : fmt::format("{}{}*{}", sign, axis, magnitude);
}

// How tightly the last operator of a text binds.
enum class Binds : std::uint8_t { kOr, kAnd, kComparison, kSum, kProduct, kFactor };

struct Text {
  std::string text;
  Binds binds = Binds::kFactor;

  // As the operand of what binds so tightly.
  std::string in(Binds around) const { return binds < around ? fmt::format("({})", text) : text; }
};

std::string_view sign_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kAdd:
      return "+";
    case NodeKind::kSubtract:
      return "-";
    case NodeKind::kMultiply:
      return "*";
    default:
      return "/";
  }
}

// Operands are printed before their operator, which takes their texts.
class BodyText {
 public:
  BodyText(const Expression& e, const Stage& stage) : e_(e), stage_(stage), texts_(stage.body.size()) {}

  std::string text() {
    for (std::size_t n = 0; n < texts_.size(); ++n) texts_[n] = text_of(stage_.body[n]);
    return std::move(texts_.back().text);
  }

 private:
  Text text_of(const Node& n) {
    switch (n.kind) {
      case NodeKind::kNumber:
        return {fmt::format("{}", n.number)};
      case NodeKind::kScalar:
        return {e_.scalars[static_cast<std::size_t>(n.index)]};
      case NodeKind::kRead:
        return {to_text(e_, stage_, stage_.reads[static_cast<std::size_t>(n.index)])};
      case NodeKind::kIndex: {
        const Coordinate& c = stage_.indices[static_cast<std::size_t>(n.index)];
        return index(c);
      }
      case NodeKind::kNegate:
        return {"-" + take(n.left).in(Binds::kFactor)};
      case NodeKind::kAdd:
      case NodeKind::kSubtract:
        return infix(n, sign_of(n.kind), Binds::kSum, Binds::kProduct);
      case NodeKind::kMultiply:
      case NodeKind::kDivide:
        return infix(n, sign_of(n.kind), Binds::kProduct, Binds::kFactor);
      case NodeKind::kCall:
        break;
    }
    return call(n);
  }

  Text index(const Coordinate& c) {
    if (c.divisor != 1) return {fmt::format("floor({})", to_text(stage_, c))};
    if (c.bare_axis()) return {to_text(stage_, c)};
    const bool one = c.modulus != 0 || (c.terms.size() == 1 && c.offset == 0);
    return {to_text(stage_, c), one ? Binds::kProduct : Binds::kSum};
  }

  Text call(const Node& n) {
    const std::string_view name = spelling(n.function);
    switch (n.function) {
      case Function::kLess:
      case Function::kLessEqual:
      case Function::kGreater:
      case Function::kGreaterEqual:
      case Function::kEqual:
      case Function::kNotEqual: {
        Text out = infix(n, name, Binds::kSum, Binds::kSum);
        out.binds = Binds::kComparison;
        return out;
      }
      case Function::kAnd:
        return infix(n, name, Binds::kAnd, Binds::kComparison);
      case Function::kOr:
        return infix(n, name, Binds::kOr, Binds::kAnd);
      case Function::kMod:
        return infix(n, name, Binds::kProduct, Binds::kFactor);
      case Function::kNot:
        return {"!" + take(n.left).in(Binds::kFactor)};
      default:
        break;
    }
    std::string operands;
    for_each_operand(n, [&](int operand) { operands += (operands.empty() ? "" : ", ") + take(operand).text; });
    return {fmt::format("{}({})", name, operands)};
  }

  // Operators of one kind associate to the left.
  Text infix(const Node& n, std::string_view sign, Binds left, Binds right) {
    return {fmt::format("{} {} {}", take(n.left).in(left), sign, take(n.right).in(right)), left};
  }

  Text take(int node) { return std::move(texts_[static_cast<std::size_t>(node)]); }

  const Expression& e_;
  const Stage& stage_;
  std::vector<Text> texts_;  // by node
};

}  // namespace

std::string to_text(const Stage& stage, const Coordinate& c) {
  std::string sum;
  for (const Term& t : c.terms) sum += to_text(stage, t, sum.empty());
  if (sum.empty())
    sum = std::to_string(c.offset);
  else if (c.offset != 0)
    sum += fmt::format("{:+}", c.offset);
  if (c.affine()) return sum;
  if (c.terms.size() > 1 || c.offset != 0) sum = fmt::format("({})", sum);
  return sum + (c.modulus != 0 ? fmt::format("%{}", c.modulus) : fmt::format("/{}", c.divisor));
}

std::string to_text(const Expression& e, const Stage& stage, const Read& read) {
  std::string at;
  for (const Coordinate& c : read.at) {
    if (!at.empty()) at += ',';
    at += c.gathered() ? to_text(e, stage, stage.reads[static_cast<std::size_t>(c.table)]) : to_text(stage, c);
  }
  return fmt::format("{}[{}]", e.tensors[static_cast<std::size_t>(read.tensor)].name, at);
}

std::string to_text(const Expression& e, const Stage& stage) {
  std::vector<std::string_view> axes;
  for (std::size_t a = 0; a < stage.spatial_count(); ++a) axes.push_back(stage.axes[a].name);
  return fmt::format("{}[{}] {} {}", e.tensors[static_cast<std::size_t>(stage.output)].name, fmt::join(axes, ","),
                     spelling(stage.reducer), BodyText(e, stage).text());
}

std::string to_text(const Expression& e) {
  std::vector<std::string> stages;
  for (const Stage& s : e.stages) stages.push_back(to_text(e, s));
  return fmt::format("{}", fmt::join(stages, "; "));
}

std::vector<std::string> notes_of(const Expression& e, const Stage& stage) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < stage.reads.size(); ++i) {
    const Read& r = stage.reads[i];
    if (stage.is_table(i)) continue;  // none has a tile
    auto others = std::count_if(r.at.begin(), r.at.end(), [](const Coordinate& c) { return !c.affine(); });
    if (r.gathered_dim()) --others;
    if (page_rows(e, stage, r) > 1) --others;  // a tile goes through pages as through one dimension (tile/space.h)
    if (others > 0)
      out.push_back(fmt::format("the read {} is not affine; a tile takes its full extent", to_text(e, stage, r)));
  }
  return out;
}

}  // namespace tilescope::expr

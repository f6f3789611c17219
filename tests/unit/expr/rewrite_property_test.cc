// SPDX-License-Identifier: Apache-2.0
// Random expressions of several stages: after every rule the plain loops give the same values, and text, parser and
// inference the same expression. rapidcheck prints the seed of a failure; RC_PARAMS="seed=..." repeats it.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "expr/detail/compose.h"
#include "expr/extent.h"
#include "expr/lexer.h"
#include "expr/rewrite.h"
#include "tests/unit/expr/build_expression.h"
#include "tests/unit/expr/rewritten.h"

namespace tilescope::expr {
namespace {

template <class T>
T any_of(const std::vector<T>& values) {
  return values[*rc::gen::inRange<std::size_t>(0, values.size())];
}

bool once_in(int n) { return *rc::gen::inRange(0, n) == 0; }

std::int64_t any_number(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high + 1); }

const std::vector<std::string> kAxisNames = {"a", "b", "c", "d"};
constexpr std::int64_t kSizes[] = {2, 3, 5, 9};

// A coordinate over some of the four axes.
Coordinate any_coordinate(const std::vector<int>& axes) {
  Coordinate c;
  for (const int a : axes)
    if (c.terms.size() < 2 && once_in(2)) c.terms.push_back({a, once_in(3) ? any_of<std::int64_t>({-2, -1, 2, 3}) : 1});
  if (once_in(3)) c.offset = any_number(-2, 6);
  if (once_in(4)) (once_in(2) ? c.divisor : c.modulus) = any_number(1, 5);
  return c;
}

std::string text_of(const Coordinate& c) {
  std::string sum = fmt::format("{}", c.offset);
  for (const Term& t : c.terms) sum += fmt::format("{:+}*{}", t.coefficient, kAxisNames[std::size_t(t.axis)]);
  if (c.affine()) return sum;
  return c.modulus != 0 ? fmt::format("({})%{}", sum, c.modulus) : fmt::format("({})/{}", sum, c.divisor);
}

// A stage's output; its axes say its extents.
struct Written {
  std::string name;
  std::vector<int> axes;
};

// Draws stages that read four inputs and earlier outputs; of integers, most stages stay integers and many wrap.
class Drawing {
 public:
  explicit Drawing(bool integers) : integers_(integers) {}

  std::string text() {
    const auto count = any_number(2, 5);
    std::string out;
    for (std::int64_t s = 0; s < count; ++s) out += (s > 0 ? "; " : "") + stage(fmt::format("T{}", s));
    return out;
  }

 private:
  std::string stage(const std::string& name) {
    std::vector<int> spatial = {0, 1, 2, 3};
    while (spatial.size() > 2 || (spatial.size() > 1 && once_in(2)))
      spatial.erase(spatial.begin() + any_number(0, std::int64_t(spatial.size()) - 1));
    whole_ = integers_ && !once_in(5);
    const std::string reducer = once_in(2) ? "=" : any_of<std::string>({"+=!", "+=!", "mean=!", "max=!", "min=!"});
    axes_ = reducer == "=" ? spatial : std::vector<int>{0, 1, 2, 3};
    spatial_ = spatial;
    std::vector<std::string> names;
    for (const int a : spatial) names.push_back(kAxisNames[std::size_t(a)]);
    const std::string text =
        fmt::format("{}[{}] {} {}", name, fmt::join(names, ","), reducer, once_in(2) ? product() : body(3));
    written_.push_back({name, spatial});
    return text;
  }

  // Some of whose factors use no reduced axis.
  std::string product() {
    std::string out = body(1);
    const auto factors = any_number(1, 3);
    for (std::int64_t f = 0; f < factors; ++f) {
      const std::vector<int> axes = axes_;
      if (once_in(2)) axes_ = spatial_;
      out = !whole_ && once_in(3) ? fmt::format("{} / (2 + abs({}))", out, body(1))
                                  : fmt::format("{} * ({})", out, body(1));
      axes_ = axes;
    }
    return out;
  }

  std::string body(int depth) {
    if (depth == 0 || once_in(4)) return leaf();
    const std::string x = body(depth - 1);
    switch (any_number(0, whole_ ? 5 : 9)) {
      case 0:
        return fmt::format("{} + ({})", x, body(depth - 1));
      case 1:
        return fmt::format("({}) - ({})", x, body(depth - 1));
      case 2:
        return fmt::format("({}) * ({})", x, body(depth - 1));
      case 3:
        return fmt::format("max({}, {})", x, body(depth - 1));
      case 4:
        return fmt::format("-({})", x);
      case 5:
        return fmt::format("{}({})", any_of<std::string>({"relu", "abs"}), x);
      case 6:
        return fmt::format("exp(tanh({}))", x);
      case 7:
        return fmt::format("{} / (1.5 + abs({}))", x, body(depth - 1));
      default:
        return fmt::format("{}({})", any_of<std::string>({"sigmoid", "erf"}), x);
    }
  }

  std::string leaf() {
    if (whole_ && once_in(4)) return any_of<std::string>({"3", "2147483647", "1000000007"});
    if (!whole_ && once_in(8)) return any_of<std::string>({"alpha", "beta", "0.25", "3"});
    if (written_.empty() || once_in(3)) return input();
    const Written& w = any_of(written_);
    std::vector<std::string> at;
    for (const int a : w.axes) at.push_back(coordinate_within(a));
    return fmt::format("{}[{}]", w.name, fmt::join(at, ","));
  }

  std::string input() {
    const auto rank = any_number(1, 2);
    std::vector<std::string> at;
    for (std::int64_t d = 0; d < rank; ++d)
      at.push_back(once_in(2) ? kAxisNames[std::size_t(any_of(axes_))] : text_of(any_coordinate(axes_)));
    return fmt::format("I{}{}[{}]", rank, any_of<std::string>({"", "x"}), fmt::join(at, ","));
  }

  // Most often inside the extent of that axis.
  std::string coordinate_within(int axis) {
    if (!once_in(3) && std::find(axes_.begin(), axes_.end(), axis) != axes_.end()) return kAxisNames[std::size_t(axis)];
    for (int tries = 0; tries < 8; ++tries) {
      const Coordinate c = any_coordinate(axes_);
      const auto span = span_of(c, {std::begin(kSizes), std::end(kSizes)});
      if (span->low >= 0 && span->high < kSizes[axis]) return text_of(c);
    }
    return text_of(any_coordinate(axes_));
  }

  bool integers_;
  bool whole_ = false;  // of the stage: nothing leaves the integers
  std::vector<Written> written_;
  std::vector<int> axes_, spatial_;  // of the stage: those that reads may use, and those of the output
};

// Nothing where the text has mistakes, such as an input that no read touches.
std::optional<Expression> any_expression(base::Dtype dtype = base::Dtype::kF64) {
  const std::string text = Drawing(base::is_integer(dtype)).text();
  std::vector<std::string> sizes;
  const auto words = tokenize(text, {});
  for (std::size_t a = 0; a < kAxisNames.size(); ++a)
    if (std::any_of(words.begin(), words.end(), [&](const Token& t) { return t.text == kAxisNames[a]; }))
      sizes.push_back(fmt::format("{}={}", kAxisNames[a], kSizes[a]));
  return tests::build(text, fmt::format("{}", fmt::join(sizes, ",")), {}, dtype).expression;
}

void check_rewritten(const Expression& before, const Expression& after) {
  const double tolerance = base::is_integer(before.dtype) ? 0 : 1e-12;
  RC_LOG() << to_text(before) << "\n" << to_text(after) << "\n";
  RC_ASSERT(tests::dump(after) == tests::dump_of_text(after));
  RC_ASSERT(tests::difference(tests::values_of(before), tests::values_of(after)) <= tolerance);
  // What no stage of the one reads is a result of the other too.
  for (const Tensor& t : before.tensors) {
    const auto is_read = [&](const Stage& s) {
      return std::any_of(s.reads.begin(), s.reads.end(),
                         [&](const Read& r) { return before.tensors[std::size_t(r.tensor)].name == t.name; });
    };
    if (std::any_of(before.stages.begin(), before.stages.end(), is_read)) continue;
    RC_ASSERT(tests::shape_of(after, t.name) == t.shape);
  }
}

using Rule = std::optional<Expression> (*)(const Expression&, std::size_t, std::string&);

// Checks what the rule makes of each stage; whether it rewrote any.
bool check_rule(const Expression& e, Rule rule) {
  bool rewritten = false;
  const std::string before = tests::dump(e);
  for (std::size_t s = 0; s < e.stages.size(); ++s) {
    std::string refusal;
    const auto after = rule(e, s, refusal);
    RC_ASSERT(after.has_value() == refusal.empty());
    RC_ASSERT(tests::dump(e) == before);
    if (after) check_rewritten(e, *after);
    rewritten = rewritten || after;
  }
  return rewritten;
}

RC_GTEST_PROP(RewriteProperty, TextIsReadAsTheExpression, ()) {
  const auto e = any_expression();
  RC_PRE(e.has_value());
  Expression printed = *e;  // stages keep the text that was written
  for (Stage& s : printed.stages) s.text = to_text(*e, s);
  RC_ASSERT(tests::dump(printed) == tests::dump_of_text(*e));
}

RC_GTEST_PROP(RewriteProperty, InlinedStagesGiveTheSameValues, ()) {
  const auto e = any_expression();
  RC_PRE(e.has_value());
  RC_CLASSIFY(check_rule(*e, inlined), "inlined");
}

RC_GTEST_PROP(RewriteProperty, InlinedIntegersAreExact, ()) {
  const auto e = any_expression(base::Dtype::kI8);
  RC_PRE(e.has_value());
  RC_CLASSIFY(check_rule(*e, inlined), "inlined");
}

RC_GTEST_PROP(RewriteProperty, FactorsOutsideGiveTheSameValues, ()) {
  const auto e = any_expression();
  RC_PRE(e.has_value());
  RC_CLASSIFY(check_rule(*e, factor_out), "factored");
}

RC_GTEST_PROP(RewriteProperty, RulesInAnyOrderGiveTheSameValues, ()) {
  const auto e = any_expression();
  RC_PRE(e.has_value());
  Expression last = *e;
  bool rewritten = false;
  for (int n = 0; n < 8; ++n) {
    std::string refusal;
    const auto stage = std::size_t(any_number(0, std::int64_t(last.stages.size()) - 1));
    const auto next = (once_in(2) ? inlined : factor_out)(last, stage, refusal);
    if (next) last = *next;
    rewritten = rewritten || next;
  }
  RC_CLASSIFY(rewritten, "rewritten");
  if (rewritten) check_rewritten(*e, last);
}

RC_GTEST_PROP(RewriteProperty, EverythingInlinedGivesTheSameValues, ()) {
  const auto e = any_expression();
  RC_PRE(e.has_value());
  const Expression after = with_everything_inlined(*e);
  if (after.stages.size() == e->stages.size()) {
    RC_ASSERT(tests::dump(after) == tests::dump(*e));
    return;
  }
  RC_TAG("rewritten");
  check_rewritten(*e, after);
  RC_ASSERT(tests::dump(with_everything_inlined(after)) == tests::dump(after));
}

// A tensor that is copied in a shape with other dimensions of one element, between a sum and what uses the copy.
std::string any_copy_in_another_rank() {
  std::vector<std::string> from, to, at;
  const auto add_ones = [&](std::vector<std::string>& axes, bool read) {
    for (std::int64_t ones = any_number(0, 2); ones > 0; --ones) {
      axes.push_back(fmt::format("u{}", axes.size()));
      if (read) at.emplace_back("0");
    }
  };
  for (const char* axis : {"a", "b", "c"}) {
    add_ones(from, true);
    add_ones(to, false);
    for (std::vector<std::string>* axes : {&from, &to, &at}) axes->emplace_back(axis);
  }
  add_ones(from, true);
  add_ones(to, false);
  const auto list = [](const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); };
  return fmt::format(
      "T[{0}] +=! X[{0},d] * W[a,d]; B[{0}] = T[{0}] + D[b]; V[{1}] = B[{2}]; Y[{1}] = V[{1}] * S[c]; Z[{1}] = Y[{1}] "
      "+ 1",
      list(from), list(to), list(at));
}

RC_GTEST_PROP(RewriteProperty, WithoutCopiesTheSameValuesLieInTheSameOrder, ()) {
  const std::string text = any_copy_in_another_rank();
  std::string sizes = "a=2,b=3,c=1,d=5";
  for (int u = 0; u < 12; ++u)
    if (text.find(fmt::format("u{}", u)) != std::string::npos) sizes += fmt::format(",u{}=1", u);
  const auto e = tests::build(text, sizes, {}, base::Dtype::kF64).expression;
  RC_PRE(e.has_value());
  const Expression after = without_copies(*e);
  RC_LOG() << text << "\n" << to_text(after) << "\n";
  RC_ASSERT(after.stages.size() == 4u);
  RC_ASSERT(tests::dump(without_copies(after)) == tests::dump(after));
  RC_ASSERT(tests::difference(tests::values_of(*e), tests::values_of(after)) == 0);
  for (const Tensor& t : after.tensors)
    for (const Tensor& before : e->tensors) RC_ASSERT(t.name != before.name || t.elements() == before.elements());
}

// Without this the properties could hold because every rule refuses.
TEST(RewriteProperty, ManyExpressionsAreRewritten) {
  int built = 0, with_inlined = 0, with_factor = 0;
  const auto applies = [](const Expression& e, Rule rule) {
    std::string refusal;
    for (std::size_t s = 0; s < e.stages.size(); ++s)
      if (rule(e, s, refusal)) return 1;
    return 0;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto e = rc::gen::exec([] { return any_expression(); })(rc::Random(seed), rc::kNominalSize).value();
    if (!e) continue;
    ++built;
    with_inlined += applies(*e, inlined);
    with_factor += applies(*e, factor_out);
  }
  EXPECT_GT(built, 150);
  EXPECT_GT(with_inlined * 5, built);
  EXPECT_GT(with_factor * 5, built);
}

// Coordinates alone, where they are least regular.
RC_GTEST_PROP(RewriteProperty, ComposedCoordinatesHaveTheValueOfBoth, ()) {
  const std::vector<int> all = {0, 1, 2, 3};
  const std::vector<std::int64_t> sizes(std::begin(kSizes), std::end(kSizes));
  const Coordinate outer = any_coordinate(all);
  std::vector<Coordinate> axes;
  for (std::size_t a = 0; a < all.size(); ++a) axes.push_back(any_coordinate(all));
  const auto both = composed(outer, axes, sizes);
  RC_CLASSIFY(both.has_value(), "composed");
  if (!both) return;
  std::vector<std::int64_t> p(4, 0);
  for (p[0] = 0; p[0] < sizes[0]; ++p[0])
    for (p[1] = 0; p[1] < sizes[1]; ++p[1])
      for (p[2] = 0; p[2] < sizes[2]; ++p[2])
        for (p[3] = 0; p[3] < sizes[3]; ++p[3]) {
          std::vector<std::int64_t> inner;
          for (const Coordinate& c : axes) inner.push_back(value_at(c, p));
          RC_ASSERT(value_at(*both, p) == value_at(outer, inner));
        }
}

}  // namespace
}  // namespace tilescope::expr

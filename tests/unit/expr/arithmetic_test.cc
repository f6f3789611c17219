// SPDX-License-Identifier: Apache-2.0
// The arithmetic of suites, against trees that are computed without text. RC_PARAMS="seed=..." repeats a failure.

#include "expr/arithmetic.h"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::expr {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Answer {
  std::optional<std::int64_t> value;
  std::vector<std::string> errors;
};

// With a = 7, b = 12.
Answer answer(const std::string& text) {
  base::Diagnostics diags;
  const base::Position at{diags.add_source("s"), 1, 1};
  const auto value_of = [&](const Token& name) -> std::optional<std::int64_t> {
    if (name.text == "a") return 7;
    if (name.text == "b") return 12;
    diags.error(name.at, fmt::format("no '{}'", name.text));
    return std::nullopt;
  };
  const auto value = evaluate(text, at, value_of, diags);
  EXPECT_EQ(value.has_value(), diags.ok()) << text;
  return {value, diags.formatted_errors()};
}

// A random expression as text with its value, which fits 64 bits; nothing where it divides with a rest or by none.
struct Drawn {
  std::string text;
  std::optional<std::int64_t> value;
};

Drawn draw(int depth) {
  const int kind = *rc::gen::inRange(0, depth == 0 ? 3 : 10);
  if (kind == 0) return {"a", 7};
  if (kind == 1) return {"b", 12};
  if (kind == 2) {
    const auto n = *rc::gen::inRange<std::int64_t>(0, 40);
    return {fmt::format("{}", n), n};
  }
  const Drawn x = draw(depth - 1), y = draw(depth - 1);
  const bool both = x.value && y.value;
  const auto of = [&](const char* form, auto value) {
    return Drawn{fmt::format(fmt::runtime(form), x.text, y.text), both ? value() : std::nullopt};
  };
  using Value = std::optional<std::int64_t>;
  switch (kind) {
    case 3:
      return of("({} + {})", [&] { return Value(*x.value + *y.value); });
    case 4:
      return of("({}-{})", [&] { return Value(*x.value - *y.value); });
    case 5:
      return of("{} * ({})", [&] { return Value(*x.value * *y.value); });
    case 6:
      return of("({}) / ({})",
                [&] { return *y.value > 0 && *x.value % *y.value == 0 ? Value(*x.value / *y.value) : std::nullopt; });
    case 7:
      return of("ceil_div({}, {})", [&]() -> Value {
        if (*y.value <= 0) return std::nullopt;
        std::int64_t up = *x.value / *y.value;
        while (up * *y.value < *x.value) ++up;
        return up;
      });
    case 8:
      return of("min({}, {})", [&] { return Value(std::min(*x.value, *y.value)); });
    default:
      return of("max({},{})", [&] { return Value(std::max(*x.value, *y.value)); });
  }
}

RC_GTEST_PROP(Arithmetic, IsThatOfTheTree, ()) {
  const Drawn drawn = draw(4);
  const Answer got = answer(drawn.text);
  RC_ASSERT(got.value == drawn.value);
  RC_ASSERT(got.errors.empty() == drawn.value.has_value());
}

TEST(Arithmetic, BindsAsUsual) {
  EXPECT_EQ(answer("2 + 3 * a").value, 23);
  EXPECT_EQ(answer("(2 + 3) * a").value, 35);
  EXPECT_EQ(answer("20 - 5 - 3").value, 12);
  EXPECT_EQ(answer("b / 2 / 3").value, 2);
  EXPECT_EQ(answer("-a + b").value, 5);
  EXPECT_EQ(answer("2 * -a").value, -14);
  EXPECT_EQ(answer("a % 4 + ceil_div(a, 4)").value, 5);
}

TEST(Arithmetic, EveryMistakeHasItsColumn) {
  EXPECT_THAT(answer("a * c + d").errors, ElementsAre("s:1:5: no 'c'", "s:1:9: no 'd'"));
  EXPECT_THAT(answer("a / 2").errors,
              ElementsAre("s:1:3: 7 / 2 is not whole in 'a / 2'; ceil_div(7, 2) would round it up"));
  EXPECT_THAT(answer("a / (b - 12)").errors, ElementsAre("s:1:3: 7 / 0, expected a divisor above 0"));
  EXPECT_THAT(answer("9223372036854775807 + 1").errors,
              ElementsAre("s:1:21: 9223372036854775807 + 1 does not fit 64 bits"));
  EXPECT_THAT(answer("99999999999999999999").errors, ElementsAre("s:1:1: 99999999999999999999 does not fit 64 bits"));
  EXPECT_THAT(answer("1.5 * a").errors, ElementsAre("s:1:1: expected a whole number, a variable or '(', got '1.5'"));
  EXPECT_THAT(answer("a b").errors, ElementsAre("s:1:3: expected an operator, got 'b'"));
  EXPECT_THAT(answer("").errors, ElementsAre("s:1:1: expected a whole number, a variable or '(', got the end"));
  EXPECT_THAT(
      answer("cel_div(a, 4)").errors,
      ElementsAre("s:1:1: 'cel_div' is no function, expected one of ceil_div, max, min; did you mean 'ceil_div'?"));
  EXPECT_THAT(answer("min(a)").errors, ElementsAre("s:1:6: expected ',' and a second number in min, got ')'"));
  EXPECT_THAT(answer(std::string(500, '(')).errors, testing::SizeIs(1));
  EXPECT_THAT(answer("a * (b + 1)").errors, IsEmpty());
}

}  // namespace
}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#include "expr/arithmetic.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/integer.h"
#include "base/parse_number.h"

namespace tilescope::expr {
namespace {

using Number = std::optional<std::int64_t>;  // nothing after an error

constexpr std::array<std::string_view, 3> kSizeFunctions = {"ceil_div", "max", "min"};
constexpr std::string_view kOperand = "a whole number, a variable or '('";

class Evaluator {
 public:
  Evaluator(std::string_view text, base::Position at, const ValueOf& value_of, base::Diagnostics& diags)
      : text_(text), cursor_(text, at, '\0', diags), value_of_(value_of) {}

  Number run() {
    const Number value = sum();
    if (!cursor_.failed() && !cursor_.at_kind(TokenKind::kEnd)) cursor_.fail_expected("an operator");
    return cursor_.failed() || cursor_.has_errors() ? std::nullopt : value;
  }

 private:
  Number sum() {
    Number left = product();
    while (!cursor_.failed() && (cursor_.at_symbol('+') || cursor_.at_symbol('-'))) {
      const Token op = cursor_.take();
      const Number right = product();
      left = op.text == "+" ? whole(op, left, right, base::checked_add) : whole(op, left, right, difference);
    }
    return left;
  }

  Number product() {
    Number left = factor();
    while (!cursor_.failed() && (cursor_.at_symbol('*') || cursor_.at_symbol('/') || cursor_.at_symbol('%'))) {
      const Token op = cursor_.take();
      const Number right = factor();
      left = op.text == "*" ? whole(op, left, right, base::checked_mul) : divided(op, left, right);
    }
    return left;
  }

  Number factor() {
    const Nesting nesting(cursor_);
    if (cursor_.failed()) return std::nullopt;
    if (cursor_.at_symbol('-')) {
      const Token sign = cursor_.take();
      return whole(sign, 0, factor(), difference);
    }
    if (cursor_.take_symbol('(')) {
      const Number inside = sum();
      cursor_.expect_symbol(')', "after the expression in brackets");
      return inside;
    }
    if (cursor_.at_kind(TokenKind::kInteger)) {
      const Token token = cursor_.take();
      const Number value = base::parse_integer<std::int64_t>(token.text);
      if (!value) cursor_.error(token.at, fmt::format("{} does not fit 64 bits", token.text));
      return value;
    }
    if (!cursor_.at_kind(TokenKind::kIdentifier)) {
      cursor_.fail_expected(kOperand);
      return std::nullopt;
    }
    const Token name = cursor_.take();
    return cursor_.at_symbol('(') ? call(name) : value_of_(name);
  }

  Number call(const Token& name) {
    const std::vector<std::string_view> functions(kSizeFunctions.begin(), kSizeFunctions.end());
    if (std::find(functions.begin(), functions.end(), name.text) == functions.end()) {
      cursor_.fail(name.at, fmt::format("'{}' is no function, expected one of {}{}", name.text,
                                        fmt::join(functions, ", "), base::did_you_mean(name.text, functions)));
      return std::nullopt;
    }
    cursor_.take();  // the bracket
    const Number a = sum();
    cursor_.expect_symbol(',', fmt::format("and a second number in {}", name.text));
    const Number b = sum();
    cursor_.expect_symbol(')', fmt::format("after the two numbers of {}", name.text));
    if (!a || !b || cursor_.failed()) return std::nullopt;
    if (name.text == "min") return std::min(*a, *b);
    if (name.text == "max") return std::max(*a, *b);
    if (*b <= 0) {
      cursor_.error(name.at, fmt::format("ceil_div by {}, expected a divisor above 0", *b));
      return std::nullopt;
    }
    return base::floor_div(*a, *b) + (base::floor_mod(*a, *b) > 0 ? 1 : 0);
  }

  static Number difference(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_sub_overflow(a, b, &out) ? std::nullopt : Number(out);
  }

  Number whole(const Token& op, Number a, Number b, Number (*operation)(std::int64_t, std::int64_t)) {
    if (!a || !b || cursor_.failed()) return std::nullopt;
    const Number value = operation(*a, *b);
    if (!value) cursor_.error(op.at, fmt::format("{} {} {} does not fit 64 bits", *a, op.text, *b));
    return value;
  }

  Number divided(const Token& op, Number a, Number b) {
    if (!a || !b || cursor_.failed()) return std::nullopt;
    if (*b <= 0) {
      cursor_.error(op.at, fmt::format("{} {} {}, expected a divisor above 0", *a, op.text, *b));
      return std::nullopt;
    }
    if (op.text == "%") return base::floor_mod(*a, *b);
    if (*a % *b == 0) return *a / *b;
    cursor_.error(
        op.at, fmt::format("{} / {} is not whole in '{}'; ceil_div({}, {}) would round it up", *a, *b, text_, *a, *b));
    return std::nullopt;
  }

  std::string_view text_;
  Cursor cursor_;
  const ValueOf& value_of_;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::string_view text, base::Position at, const ValueOf& value_of,
                                     base::Diagnostics& diags) {
  return Evaluator(text, at, value_of, diags).run();
}

}  // namespace tilescope::expr

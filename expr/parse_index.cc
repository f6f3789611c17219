// SPDX-License-Identifier: Apache-2.0
#include "expr/detail/parse_index.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/integer.h"

namespace tilescope::expr {
namespace {

bool affine(const NamedCoordinate& c) { return c.divisor == 1 && c.modulus == 0; }

class CoordinateReader {
 public:
  CoordinateReader(Cursor& cursor, std::string_view tensor, const AddTable& add)
      : cursor_(cursor), tensor_(tensor), add_(add) {}

  NamedCoordinate sum() {
    NamedCoordinate left = product();
    while (!cursor_.failed() && (cursor_.at_symbol('+') || cursor_.at_symbol('-'))) {
      const Token sign = cursor_.take();
      NamedCoordinate right = product();
      if (left.table >= 0 || right.table >= 0) return refuse_table(sign);
      if (!affine(left) || !affine(right)) return refuse_partial(sign);
      if (sign.text == "-") scale(right, -1, sign.at);
      add(left, right, sign.at);
    }
    return left;
  }

 private:
  NamedCoordinate product() {
    NamedCoordinate left = factor();
    while (!cursor_.failed() && (cursor_.at_symbol('*') || cursor_.at_symbol('/') || cursor_.at_symbol('%'))) {
      const Token op = cursor_.take();
      if (left.table >= 0) return refuse_table(op);
      if (op.text == "*")
        multiply(left, factor(), op);
      else
        divide(left, op);
    }
    return left;
  }

  NamedCoordinate factor() {
    const Nesting nesting(cursor_);
    if (cursor_.failed()) return {};
    if (cursor_.at_symbol('-')) {
      const Token minus = cursor_.take();
      NamedCoordinate c = factor();
      if (c.table >= 0) return refuse_table(minus);
      if (!affine(c)) return refuse_partial(minus);
      scale(c, -1, minus.at);
      return c;
    }
    if (cursor_.take_symbol('(')) {
      NamedCoordinate c = sum();
      cursor_.expect_symbol(')', fmt::format("in a coordinate of '{}'", tensor_));
      return c;
    }
    return axis_or_number();
  }

  NamedCoordinate axis_or_number() {
    NamedCoordinate c;
    if (cursor_.at_kind(TokenKind::kIdentifier)) {
      const Token axis = cursor_.take();
      if (cursor_.take_symbol('[')) return element_of_table(axis);
      c.terms.push_back({std::string(axis.text), 1, axis.at});
    } else if (cursor_.at_kind(TokenKind::kInteger)) {
      c.offset = integer_of(cursor_.take(), cursor_).value_or(0);
    } else {
      cursor_.fail_expected(fmt::format("an axis or a whole number in a coordinate of '{}'", tensor_));
    }
    return c;
  }

  // Behind the '[' of a table.
  NamedCoordinate element_of_table(const Token& name) {
    NamedCoordinate c;
    auto at = parse_coordinates(cursor_, name, {});
    if (!at) return c;
    if (add_)
      c.table = add_({std::string(name.text), std::move(*at), name.at, std::nullopt});
    else
      cursor_.error(name.at,
                    fmt::format("'{}' is a coordinate of '{}', which is one itself; make it a stage of its own",
                                name.text, tensor_));
    return c;
  }

  void multiply(NamedCoordinate& left, NamedCoordinate right, const Token& op) {
    if (cursor_.failed()) return;
    if (right.table >= 0) {
      refuse_table(op);
      return;
    }
    if (left.terms.empty() && affine(left)) std::swap(left, right);
    if (!right.terms.empty())
      return cursor_.error(op.at, "a coordinate is linear in its axes: one side of '*' must be a whole number");
    if (!affine(left)) {
      refuse_partial(op);
      return;
    }
    scale(left, right.offset, op.at);
  }

  void divide(NamedCoordinate& left, const Token& op) {
    if (!cursor_.at_kind(TokenKind::kInteger))
      return cursor_.fail_expected(fmt::format("a whole number after '{}' in a coordinate of '{}'", op.text, tensor_));
    const Token number = cursor_.take();
    const std::optional<std::int64_t> by = integer_of(number, cursor_);
    if (!by) return;
    if (*by == 0) return cursor_.error(number.at, fmt::format("'{}' by 0 in a coordinate of '{}'", op.text, tensor_));
    if (!affine(left))
      return cursor_.error(op.at, fmt::format("a coordinate of '{}' has more than one '/' or '%'", tensor_));
    (op.text == "/" ? left.divisor : left.modulus) = *by;
  }

  NamedCoordinate refuse_table(const Token& op) {
    cursor_.error(op.at, fmt::format("a coordinate of '{}' that is read from a table stands alone, without '{}'",
                                     tensor_, op.text));
    return {};
  }

  NamedCoordinate refuse_partial(const Token& op) {
    if (!cursor_.failed())
      cursor_.error(op.at, fmt::format("'/' and '%' end a coordinate of '{}'; put the whole sum in parentheses before "
                                       "them, as in (y+1)/2",
                                       tensor_));
    return {};
  }

  void scale(NamedCoordinate& c, std::int64_t by, base::Position at) {
    for (NamedTerm& t : c.terms) t.coefficient = fits(base::checked_mul(t.coefficient, by), t.axis, at);
    c.offset = fits(base::checked_mul(c.offset, by), {}, at);
  }

  void add(NamedCoordinate& to, const NamedCoordinate& more, base::Position at) {
    for (const NamedTerm& t : more.terms) {
      const auto same = std::find_if(to.terms.begin(), to.terms.end(), [&](const auto& o) { return o.axis == t.axis; });
      if (same == to.terms.end())
        to.terms.push_back(t);
      else
        same->coefficient = fits(base::checked_add(same->coefficient, t.coefficient), t.axis, at);
    }
    to.offset = fits(base::checked_add(to.offset, more.offset), {}, at);
  }

  std::int64_t fits(std::optional<std::int64_t> value, std::string_view axis, base::Position at) {
    if (!value) {
      const std::string what = axis.empty() ? "the offset" : fmt::format("the coefficient of '{}'", axis);
      cursor_.error(at, fmt::format("{} in a coordinate of '{}' does not fit 64 bits", what, tensor_));
    }
    return value.value_or(0);
  }

  Cursor& cursor_;
  std::string_view tensor_;
  const AddTable& add_;
};

}  // namespace

std::optional<std::int64_t> integer_of(const Token& token, Cursor& cursor) {
  std::int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, value).ec == std::errc{}) return value;
  cursor.error(token.at, fmt::format("the number {} does not fit 64 bits", token.text));
  return std::nullopt;
}

NamedCoordinate parse_coordinate(Cursor& cursor, std::string_view tensor, const AddTable& add) {
  const base::Position at = cursor.peek().at;
  NamedCoordinate c = CoordinateReader(cursor, tensor, add).sum();
  std::erase_if(c.terms, [](const NamedTerm& t) { return t.coefficient == 0; });
  // Far beyond any tensor, and small enough that no later sum of them overflows.
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  const auto far = [](std::int64_t n) { return n > kFarthest || n < -kFarthest; };
  if (far(c.offset) || std::any_of(c.terms.begin(), c.terms.end(), [&](const auto& t) { return far(t.coefficient); }))
    cursor.error(at, fmt::format("a number in a coordinate of '{}' is beyond 2^40", tensor));
  return c;
}

std::optional<std::vector<NamedCoordinate>> parse_coordinates(Cursor& cursor, const Token& tensor,
                                                              const AddTable& add) {
  std::vector<NamedCoordinate> out;
  do {
    const base::Position at = cursor.peek().at;
    out.push_back(parse_coordinate(cursor, tensor.text, add));
    const auto gathered = std::count_if(out.begin(), out.end(), [](const auto& c) { return c.table >= 0; });
    if (gathered == 2 && out.back().table >= 0)
      cursor.error(at,
                   fmt::format("'{}' has a second coordinate that is read from a table; it may have one", tensor.text));
  } while (cursor.take_symbol(','));
  if (!cursor.expect_symbol(']', fmt::format("after the coordinates of '{}'", tensor.text))) return std::nullopt;
  if (out.size() > kMaxRank)
    cursor.error(tensor.at, fmt::format("'{}' has more than {} coordinates", tensor.text, kMaxRank));
  return out;
}

}  // namespace tilescope::expr

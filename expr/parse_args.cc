// SPDX-License-Identifier: Apache-2.0
#include "expr/parse_args.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "expr/detail/parse_index.h"
#include "expr/lexer.h"

namespace tilescope::expr {
namespace {

// The name and the `=` of `m=4096`; fails the cursor where they are not there.
Token name_before_assign(Cursor& cursor, std::string_view what) {
  if (!cursor.at_kind(TokenKind::kIdentifier)) {
    cursor.fail_expected(what);
    return {};
  }
  const Token name = cursor.take();
  if (cursor.peek().text == "=")
    cursor.take();
  else
    cursor.fail_expected(fmt::format("'=' after '{}'", name.text));
  return name;
}

// A whole number, which may be negative so that infer can say what is wrong with it.
std::int64_t whole_number(Cursor& cursor, std::string_view what) {
  const bool negative = cursor.take_symbol('-');
  if (cursor.failed()) return 0;
  if (!cursor.at_kind(TokenKind::kInteger)) {
    cursor.fail_expected(what);
    return 0;
  }
  const std::int64_t value = integer_of(cursor.take(), cursor).value_or(1);
  return negative ? -value : value;
}

template <class Given>
bool is_given(const std::vector<Given>& all, std::string Given::* name, std::string_view word) {
  for (const Given& g : all)
    if (g.*name == word) return true;
  return false;
}

}  // namespace

std::optional<std::vector<GivenSize>> parse_sizes(std::string_view text, base::Position at, base::Diagnostics& diags) {
  Cursor cursor(text, at, ',', diags);
  std::vector<GivenSize> out;
  do {
    cursor.begin_part();
    const Token name = name_before_assign(cursor, "a size such as m=4096");
    const std::int64_t size = whole_number(cursor, fmt::format("a whole number as the size of '{}'", name.text));
    if (!cursor.failed() && !cursor.at_symbol(',') && !cursor.at_kind(TokenKind::kEnd))
      cursor.fail_expected(fmt::format("',' after the size of '{}'", name.text));
    if (!cursor.failed() && is_given(out, &GivenSize::axis, name.text))
      cursor.error(name.at, fmt::format("the size of '{}' is given twice", name.text));
    if (!cursor.failed()) out.push_back({std::string(name.text), size, name.at});
    cursor.begin_part();
  } while (cursor.take_symbol(','));
  if (cursor.has_errors()) return std::nullopt;
  return out;
}

std::optional<std::vector<GivenShape>> parse_shapes(std::string_view text, base::Position at,
                                                    base::Diagnostics& diags) {
  Cursor cursor(text, at, ';', diags);
  std::vector<GivenShape> out;
  do {
    cursor.begin_part();
    const Token name = name_before_assign(cursor, "a shape such as I=128,64,56,56");
    GivenShape given{std::string(name.text), {}, name.at};
    const std::string what = fmt::format("a whole number as an extent of '{}'", name.text);
    do given.shape.push_back(whole_number(cursor, what));
    while (cursor.take_symbol(','));
    if (!cursor.failed() && !cursor.at_symbol(';') && !cursor.at_kind(TokenKind::kEnd))
      cursor.fail_expected(fmt::format("',' and another extent of '{}', or ';' and another shape", name.text));
    if (!cursor.failed() && is_given(out, &GivenShape::tensor, name.text))
      cursor.error(name.at, fmt::format("the shape of '{}' is given twice", name.text));
    if (!cursor.failed()) out.push_back(std::move(given));
    cursor.begin_part();
  } while (cursor.take_symbol(';'));
  if (cursor.has_errors()) return std::nullopt;
  return out;
}

}  // namespace tilescope::expr

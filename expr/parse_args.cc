// SPDX-License-Identifier: Apache-2.0
#include "expr/parse_args.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::optional<base::Dtype> known_dtype(const Token& word, Cursor& cursor) {
  const auto dtype = base::dtype_of(word.text);
  if (dtype) return dtype;
  const std::vector<std::string_view> names = base::dtype_names();
  cursor.fail(word.at, fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "), word.text,
                                   base::did_you_mean(word.text, names)));
  return std::nullopt;
}

// The `:sorted` of `T=i32:sorted`, where there is one.
std::optional<IndexDistribution> distribution_behind(Cursor& cursor, std::string_view tensor) {
  if (cursor.peek().text != ":") return std::nullopt;
  cursor.take();
  const Token word = cursor.take();
  const auto known = index_distribution_of(word.text);
  if (!known)
    cursor.fail(word.at, fmt::format("expected the distribution of the indices in '{}', {}, got {}", tensor,
                                     kIndexDistributions, describe(word)));
  return known;
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

std::optional<GivenDtypes> parse_dtypes(std::string_view text, base::Position at, base::Diagnostics& diags) {
  constexpr std::string_view kAccumulate = "accumulate";
  Cursor cursor(text, at, ',', diags);
  GivenDtypes out;
  const auto give = [&](const Token& name, base::Dtype dtype, std::optional<IndexDistribution> indices) {
    const bool accumulates = name.text == kAccumulate;
    if (accumulates ? out.accumulate.has_value() : is_given(out.tensors, &GivenDtype::tensor, name.text))
      cursor.error(name.at, fmt::format("the dtype of '{}' is given twice", name.text));
    else if (accumulates)
      out.accumulate = dtype;
    else
      out.tensors.push_back({std::string(name.text), dtype, name.at, indices});
  };
  bool first = true;
  const auto read_part = [&] {
    if (!cursor.at_kind(TokenKind::kIdentifier))
      return cursor.fail_expected("a dtype such as bf16, or a tensor's such as A=i8");
    const Token name = cursor.take();
    const bool named = cursor.peek().text == "=";
    if (named) cursor.take();
    if (!named && !first) return cursor.fail_expected(fmt::format("'=' after '{}'", name.text));
    if (named && !cursor.at_kind(TokenKind::kIdentifier))
      return cursor.fail_expected(fmt::format("the dtype of '{}'", name.text));
    const auto dtype = known_dtype(named ? cursor.take() : name, cursor);
    const auto indices = named && dtype ? distribution_behind(cursor, name.text) : std::nullopt;
    if (dtype && named && !cursor.failed()) give(name, *dtype, indices);
    if (dtype && !named) out.arithmetic = dtype;
    if (!cursor.failed() && !cursor.at_symbol(',') && !cursor.at_kind(TokenKind::kEnd))
      cursor.fail_expected("',' and the dtype of a tensor such as A=i8");
  };
  do {
    cursor.begin_part();
    read_part();
    first = false;
    cursor.begin_part();
  } while (cursor.take_symbol(','));
  if (cursor.has_errors()) return std::nullopt;
  return out;
}

}  // namespace tilescope::expr

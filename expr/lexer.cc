// SPDX-License-Identifier: Apache-2.0
#include "expr/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::expr {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::string_view kSymbols = "[]()+-*/%,;";
constexpr std::array<std::string_view, 9> kOperators = {"<=", ">=", "==", "!=", "&&", "||", "<", ">", "!"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t run_of(std::string_view s, std::size_t from, bool (*holds)(char)) {
  while (from < s.size() && holds(s[from])) ++from;
  return from;
}

// Length of the number that `s` begins with: digits, a fraction, an exponent.
std::size_t number_length(std::string_view s, TokenKind& kind) {
  std::size_t end = run_of(s, 0, is_digit);
  kind = TokenKind::kInteger;
  if (end < s.size() && s[end] == '.') {
    end = run_of(s, end + 1, is_digit);
    kind = TokenKind::kNumber;
  }
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    const bool sign = end + 1 < s.size() && (s[end + 1] == '+' || s[end + 1] == '-');
    const std::size_t digits = end + (sign ? 2 : 1);
    const std::size_t stop = run_of(s, digits, is_digit);
    if (stop > digits) {
      end = stop;
      kind = TokenKind::kNumber;
    }
  }
  return end;
}

// Length of an assignment that `s` begins with (`=`, `+=!`, `max=!`, also misspelt ones such as `*=`), or 0. A word
// belongs to it only where `=!` follows, because `C=A[m]` assigns to C.
std::size_t assign_length(std::string_view s) {
  const std::size_t word = is_word_start(s[0]) ? run_of(s, 0, is_word) : 0;
  if (word > 0) return s.substr(word, 2) == "=!" ? word + 2 : 0;
  const std::size_t operation = std::string_view("+-*/%").find(s[0]) != std::string_view::npos ? 1 : 0;
  if (s.substr(operation, 1) != "=") return 0;
  return operation + (s.substr(operation + 1, 1) == "!" ? 2 : 1);
}

// Kind and length of the token that `s`, which is not empty, begins with.
std::pair<TokenKind, std::size_t> scan(std::string_view s) {
  const auto sign = std::find_if(kOperators.begin(), kOperators.end(), [&](auto o) { return s.starts_with(o); });
  if (sign != kOperators.end()) return {TokenKind::kOperator, sign->size()};
  if (const std::size_t n = assign_length(s); n > 0) return {TokenKind::kAssign, n};
  if (is_word_start(s[0])) return {TokenKind::kIdentifier, run_of(s, 0, is_word)};
  if (is_digit(s[0]) || (s[0] == '.' && s.size() > 1 && is_digit(s[1]))) {
    TokenKind kind{};
    const std::size_t n = number_length(s, kind);
    return {kind, n};
  }
  if (kSymbols.find(s[0]) != std::string_view::npos) return {TokenKind::kSymbol, 1};
  return {TokenKind::kUnknown, run_of(s, 1, is_continuation)};
}

// The place after `passed`, which began at `at`.
base::Position advance(base::Position at, std::string_view passed) {
  if (at.line == 0) return at;
  for (const char c : passed) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if (!is_continuation(c)) {
      ++at.column;
    }
  }
  return at;
}

// "character '@'", or "byte 0xff" for what a terminal does not show.
std::string describe_unknown(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t expected = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const bool printable = first >= 0x20 && first != 0x7F && !is_continuation(text[0]) && text.size() == expected;
  return printable ? fmt::format("character '{}'", text) : fmt::format("byte 0x{:02x}", first);
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, base::Position at) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = run_of(text, i, is_space);
    at = advance(at, text.substr(i, start - i));
    i = start;
    if (i == text.size()) break;
    const auto [kind, length] = scan(text.substr(i));
    out.push_back({kind, text.substr(i, length), at});
    at = advance(at, out.back().text);
    i += length;
  }
  out.push_back({TokenKind::kEnd, text.substr(text.size()), at});
  return out;
}

std::string describe(const Token& token) {
  return token.kind == TokenKind::kEnd ? "the end" : fmt::format("'{}'", token.text);
}

Cursor::Cursor(std::string_view text, base::Position at, char separator, base::Diagnostics& diags)
    : tokens_(tokenize(text, at)), separator_(separator), diags_(diags) {}

bool Cursor::at_symbol(char symbol) const {
  return peek().kind == TokenKind::kSymbol && peek().text == std::string_view(&symbol, 1);
}

bool Cursor::at_operator(std::string_view sign) const {
  return peek().kind == TokenKind::kOperator && peek().text == sign;
}

const Token& Cursor::last() const {
  base::check(next_ > 0, "a token was taken before it is looked at");
  return tokens_[next_ - 1];
}

Token Cursor::take() {
  const Token token = peek();
  if (token.kind != TokenKind::kEnd) ++next_;
  return token;
}

bool Cursor::take_symbol(char symbol) {
  if (failed_ || !at_symbol(symbol)) return false;
  ++next_;
  return true;
}

bool Cursor::expect_symbol(char symbol, std::string_view where) {
  if (failed_) return false;
  if (take_symbol(symbol)) return true;
  fail_expected(fmt::format("'{}' {}", symbol, where));
  return false;
}

void Cursor::error(base::Position at, std::string text) {
  if (failed_) return;
  ++errors_;
  diags_.error(at, std::move(text));
}

void Cursor::fail(base::Position at, std::string text) {
  error(at, std::move(text));
  failed_ = true;
  while (!at_kind(TokenKind::kEnd) && !at_symbol(separator_)) ++next_;
}

void Cursor::fail_expected(std::string_view what) {
  const Token& token = peek();
  if (token.kind == TokenKind::kUnknown) return fail(token.at, "unexpected " + describe_unknown(token.text));
  fail(token.at, fmt::format("expected {}, got {}", what, describe(token)));
}

Nesting::Nesting(Cursor& cursor) : cursor_(cursor) {
  if (++cursor_.depth_ > kMaxDepth)
    cursor_.fail(cursor_.peek().at, fmt::format("nested more than {} levels deep", kMaxDepth));
}

}  // namespace tilescope::expr

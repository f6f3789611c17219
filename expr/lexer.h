// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens of index notation with their positions, and the cursor with which expr/parse.h and expr/parse_args.h read
// them. After a mistake the cursor skips to the next separator, so that one mistake is reported once and the next part
// is still read.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace tilescope::expr {

enum class TokenKind : std::uint8_t {
  kIdentifier,
  kInteger,   // digits alone
  kNumber,    // with a point or an exponent
  kSymbol,    // one character of []()+-*/%,;
  kOperator,  // a comparison or a logical operator: < <= > >= == != && || !
  kAssign,    // `=`, `+=!` and misspellings of these
  kUnknown,   // a character that the notation does not have
  kEnd,
};

struct Token {
  TokenKind kind{};
  std::string_view text;  // a view of the input
  base::Position at;
};

// The tokens of the text; the last one is kEnd. Columns count characters (UTF-8) from `at`.
std::vector<Token> tokenize(std::string_view text, base::Position at);

// How messages name a token: `'*'` or `the end`.
std::string describe(const Token& token);

class Cursor {
 public:
  // After a mistake, reading resumes at the next `separator`.
  Cursor(std::string_view text, base::Position at, char separator, base::Diagnostics& diags);

  const Token& peek() const { return tokens_[next_]; }
  bool at_kind(TokenKind kind) const { return peek().kind == kind; }
  bool at_symbol(char symbol) const;
  bool at_operator(std::string_view sign) const;
  // The token before the next one.
  const Token& last() const;

  Token take();
  // Takes the symbol if it is the next token.
  bool take_symbol(char symbol);
  // Takes the symbol or fails with "expected ']' `where`, got ...".
  bool expect_symbol(char symbol, std::string_view where);

  // Reports a mistake; reading goes on.
  void error(base::Position at, std::string text);
  // Reports a mistake and skips to the separator. Reports nothing where this part has failed before.
  void fail(base::Position at, std::string text);
  // fail with "expected `what`, got ..." at the next token.
  void fail_expected(std::string_view what);
  bool failed() const { return failed_; }
  // Begins the next part.
  void begin_part() { failed_ = false; }

  bool has_errors() const { return errors_ > 0; }

 private:
  friend class Nesting;

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  char separator_;
  base::Diagnostics& diags_;
  bool failed_ = false;
  int errors_ = 0;
  int depth_ = 0;
};

// One level of parentheses, calls or signs, for the lifetime of the object. Fails the cursor where nesting is too deep.
class Nesting {
 public:
  explicit Nesting(Cursor& cursor);
  ~Nesting() { --cursor_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Cursor& cursor_;
};

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Affines, accesses and guards as texts: `step*8 + thread - 3`, `A[step*8]`, `m0*64 + m < 1000`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lower/access.h"

namespace tilescope::lower {

// Positions by name.
using NamesAt = std::unordered_map<std::string, int>;

// Whether kernels may call something so: letters, digits, `_`, `#` and `.`, no digit first.
bool is_name(std::string_view text);

// Takes a text from its beginning. Where something is wrong `error()` says what was expected `at()` which byte, and
// what is taken from then on is nothing.
class AffineText {
 public:
  // No number of the text, and no coefficient, is greater than `most`.
  AffineText(std::string_view text, std::int64_t most) : text_(text), most_(most) {}

  Affine affine(const NamesAt& indices);
  std::int64_t integer();
  std::string_view name();
  // The position of a name; `what` says of which names it should be one.
  int position(const NamesAt& names, std::string_view what);
  void sign(char wanted);
  void end();

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  std::size_t at() const { return at_; }

 private:
  bool next_is(char c);
  void skip_blanks();
  void fail(std::string_view expected);
  std::int64_t product(std::int64_t a, std::int64_t b);

  std::string_view text_;
  std::int64_t most_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace tilescope::lower

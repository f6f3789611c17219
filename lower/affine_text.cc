// SPDX-License-Identifier: Apache-2.0
#include "lower/detail/affine_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/diagnostics.h"
#include "base/integer.h"
#include "base/parse_number.h"

namespace tilescope::lower {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return begins_name(c) || is_digit(c) || c == '#' || c == '.'; }

}  // namespace

bool is_name(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return !text.empty() && text.size() <= kLongest && begins_name(text.front()) &&
         std::all_of(text.begin(), text.end(), in_name);
}

void AffineText::skip_blanks() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
}

bool AffineText::next_is(char c) {
  skip_blanks();
  return ok() && at_ < text_.size() && text_[at_] == c;
}

void AffineText::fail(std::string_view expected) {
  if (!ok()) return;
  const std::string_view rest = text_.substr(at_, 20);
  error_ = rest.empty() ? fmt::format("expected {} at its end", expected)
                        : fmt::format("expected {} at '{}{}'", expected, rest, at_ + 20 < text_.size() ? "..." : "");
}

void AffineText::sign(char wanted) {
  if (next_is(wanted))
    ++at_;
  else
    fail(fmt::format("'{}'", wanted));
}

void AffineText::end() {
  skip_blanks();
  if (at_ < text_.size()) fail("nothing more");
}

std::string_view AffineText::name() {
  skip_blanks();
  const std::size_t begin = at_;
  if (!ok() || at_ == text_.size() || !begins_name(text_[at_])) {
    fail("a name");
    return {};
  }
  while (at_ < text_.size() && in_name(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

int AffineText::position(const NamesAt& names, std::string_view what) {
  const std::string_view word = name();
  if (!ok()) return 0;
  const auto found = names.find(std::string(word));
  if (found != names.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [other, at] : names) known.push_back(other);
  std::sort(known.begin(), known.end());
  at_ -= word.size();
  error_ = fmt::format("no {} is called '{}'{}", what, word, base::did_you_mean(word, known));
  return 0;
}

std::int64_t AffineText::integer() {
  const bool negative = next_is('-');
  if (negative) ++at_;
  skip_blanks();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  const auto n = base::parse_integer<std::int64_t>(text_.substr(begin, at_ - begin));
  if (n && *n <= most_) return negative ? -*n : *n;
  at_ = begin;
  fail(fmt::format("a whole number of at most {}", most_));
  return 0;
}

std::int64_t AffineText::product(std::int64_t a, std::int64_t b) {
  const auto out = base::checked_mul(a, b);
  if (!out || *out > most_ || *out < -most_) {
    fail(fmt::format("coefficients of at most {}", most_));
    return 0;
  }
  return *out;
}

Affine AffineText::affine(const NamesAt& indices) {
  std::map<int, std::int64_t> terms;  // -1 is the constant
  bool minus = false;
  if (next_is('-')) {
    minus = true;
    ++at_;
  }
  while (ok()) {
    std::int64_t factor = minus ? -1 : 1;
    int index = -1;
    do {
      skip_blanks();
      if (at_ < text_.size() && begins_name(text_[at_])) {
        if (index >= 0) fail("an affine: a number in place of a second index");
        index = position(indices, "index that comes before");
      } else {
        factor = product(factor, integer());
      }
    } while (next_is('*') && ++at_ > 0);
    std::int64_t& sum = terms[index];
    sum = product(sum + factor, 1);
    if (!next_is('+') && !next_is('-')) break;
    minus = text_[at_] == '-';
    ++at_;
  }
  Affine out;
  for (const auto& [index, coefficient] : terms) {
    if (index < 0)
      out.constant = coefficient;
    else if (coefficient != 0)
      out.terms.push_back({index, coefficient});
  }
  return ok() ? out : Affine{};
}

}  // namespace tilescope::lower

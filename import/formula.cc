// SPDX-License-Identifier: Apache-2.0
#include "import/formula.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/check.h"
#include "base/parse_number.h"

namespace tilescope::importers {
namespace {

constexpr std::array<std::string_view, 7> kFunctions = {"ceil", "floor", "round", "log2", "pow2", "max", "min"};

bool is_function(std::string_view word) {
  return std::find(kFunctions.begin(), kFunctions.end(), word) != kFunctions.end();
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_.:[]$").find(c) != std::string::npos;
}

class FormulaReader {
 public:
  FormulaReader(std::string_view text, const std::function<double(std::string_view)>& value_of)
      : text_(text), value_of_(value_of) {}

  double whole() {
    const double v = sum();
    base::check(next() == '\0', "a formula of a table ends where its text does");
    return v;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  double sum() {
    double v = product();
    for (;;)
      if (take('+'))
        v += product();
      else if (take('-'))
        v -= product();
      else
        return v;
  }

  double product() {
    double v = factor();
    for (;;)
      if (take('*'))
        v *= factor();
      else if (take('/'))
        v /= factor();
      else
        return v;
  }

  double factor() {
    if (take('(')) return closed(sum());
    const std::string_view word = next_word();
    if (is_function(word)) return call(word);
    if (const auto number = base::parse_real(word)) return *number;
    return value_of_(word);
  }

  double call(std::string_view function) {
    base::check(take('('), "a function of a formula has an argument");
    const double x = sum();
    if (function == "max" || function == "min") {
      base::check(take(','), "max and min of a formula have two arguments");
      const double y = closed(sum());
      return function == "max" ? std::max(x, y) : std::min(x, y);
    }
    closed(x);
    if (function == "ceil") return std::ceil(x);
    if (function == "floor") return std::floor(x);
    if (function == "round") return std::round(x);
    return function == "log2" ? std::log2(x) : std::exp2(x);
  }

  double closed(double v) {
    base::check(take(')'), "a parenthesis of a formula is closed");
    return v;
  }

  std::string_view next_word() {
    next();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    base::check(at_ > begin, "a formula of a table has a name or a number there");
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const std::function<double(std::string_view)>& value_of_;
};

}  // namespace

std::vector<std::string> names_in(std::string_view formula) {
  std::vector<std::string> out;
  std::string word;
  for (std::size_t i = 0; i <= formula.size(); ++i) {
    if (i < formula.size() && is_of_word(formula[i])) {
      word += formula[i];
      continue;
    }
    const bool is_name = !word.empty() && !is_function(word) && !base::parse_real(word);
    if (is_name && std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    word.clear();
  }
  return out;
}

double evaluate(std::string_view formula, const std::function<double(std::string_view)>& value_of) {
  return FormulaReader(formula, value_of).whole();
}

}  // namespace tilescope::importers

// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/formula.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <muParser.h>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/quantity.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using base::Position;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

std::size_t end_of(std::string_view text, std::size_t from, bool (*belongs)(char)) {
  while (from < text.size() && belongs(text[from])) ++from;
  return from;
}

// Where a number ends that begins at `from`.
std::size_t end_of_number(std::string_view text, std::size_t from) {
  std::size_t end = end_of(text, from, [](char c) { return is_digit(c) || c == '.'; });
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 1 : 0;
    if (end + 1 + sign < text.size() && is_digit(text[end + 1 + sign])) end = end_of(text, end + 1 + sign, is_digit);
  }
  return end;
}

// The text as the parser takes it: what it has no words for, paths and amounts, are variables of short names; every
// character knows where it came from.
class Translation {
 public:
  Translation(std::string_view text, Position at, const std::vector<std::string_view>& known, Diagnostics& diags)
      : text_(text), at_(at), known_(known), diags_(diags) {}

  bool run() {
    for (std::size_t i = 0; i < text_.size();) i = take(i);
    return ok_;
  }

  std::string translated;
  std::vector<std::size_t> origin;  // of every character of `translated`
  std::vector<std::string> paths;   // variable p<i>
  std::vector<double> amounts;      // variable q<i>

  // The place of a character of `translated`; of its end, the end of the text.
  Position place(std::size_t i) const {
    const std::size_t from = i < origin.size() ? origin[i] : text_.size();
    return {at_.source, at_.line, at_.column + static_cast<std::uint32_t>(from)};
  }

 private:
  std::size_t take(std::size_t i) {
    const char c = text_[i];
    if (is_digit(c)) return take_number(i);
    if (is_letter(c)) return take_name(i);
    const bool compares = i > 0 && std::string_view("<>=!").find(text_[i - 1]) != std::string_view::npos;
    if (c == '=' && !compares && text_.substr(i, 2) != "==")
      refuse(i, "'=' sets nothing here; '==' compares");
    else if (std::string_view("\"'#;").find(c) != std::string_view::npos)
      refuse(i, fmt::format("'{}' has no meaning in an expression", c));
    put(text_.substr(i, 1), i);
    return i + 1;
  }

  std::size_t take_number(std::size_t i) {
    const std::size_t end = end_of_number(text_, i);
    const std::size_t unit = end_of(text_, end, [](char c) { return c == ' '; });
    std::size_t unit_end = end_of(text_, unit, is_letter);
    if (unit_end == unit) {
      put(text_.substr(i, end - i), i);
      return end;
    }
    if (text_.substr(unit_end, 2) == "/s" && !(unit_end + 2 < text_.size() && in_name(text_[unit_end + 2])))
      unit_end += 2;
    const std::string_view amount = text_.substr(i, unit_end - i);
    if (const auto q = base::parse_quantity(amount)) {
      put(fmt::format("q{}", amounts.size()), i);
      amounts.push_back(q->value);
    } else {
      refuse(i, fmt::format("'{}' is no amount; units are written as in a chip's file: 96 KiB, 1.38 GHz, 20 cycles",
                            amount));
    }
    return unit_end;
  }

  std::size_t take_name(std::size_t i) {
    const std::size_t end = end_of(text_, i, in_name);
    const std::string_view name = text_.substr(i, end - i);
    if (end < text_.size() && text_[end] == '(') {
      put(name, i);  // a function
    } else if (std::find(known_.begin(), known_.end(), name) != known_.end()) {
      const auto found = std::find(paths.begin(), paths.end(), name);
      put(fmt::format("p{}", found - paths.begin()), i);
      if (found == paths.end()) paths.emplace_back(name);
    } else {
      refuse(i, fmt::format("the chip has no number '{}'{}", name, base::did_you_mean(name, known_)));
    }
    return end;
  }

  void put(std::string_view as, std::size_t from) {
    translated += as;
    origin.resize(translated.size(), from);
  }

  void refuse(std::size_t i, std::string why) {
    ok_ = false;
    diags_.error({at_.source, at_.line, at_.column + static_cast<std::uint32_t>(i)}, std::move(why));
    put("0", i);
  }

  std::string_view text_;
  Position at_;
  const std::vector<std::string_view>& known_;
  Diagnostics& diags_;
  bool ok_ = true;
};

// What the parser complains about, in words that fit the text as the user wrote it.
std::string complaint(const mu::Parser::exception_type& e) {
  switch (e.GetCode()) {
    case mu::ecUNEXPECTED_EOF:
    case mu::ecEMPTY_EXPRESSION:
      return "the expression ends where a number or a path is expected";
    case mu::ecMISSING_PARENS:
      return "a bracket is not closed";
    case mu::ecUNEXPECTED_PARENS:
      return "this bracket is not expected here";
    case mu::ecUNASSIGNABLE_TOKEN:
      return fmt::format("'{}' is no function; there are min, max, abs, floor, ceil, rint, sqrt, log2", e.GetToken());
    case mu::ecTOO_FEW_PARAMS:
    case mu::ecTOO_MANY_PARAMS:
      return "the function takes another number of arguments";
    default:
      return "the expression makes no sense here; expected one such as 'memory.smem.banks * 4 B <= 512 B'";
  }
}

}  // namespace

struct Formula::Parsed {
  std::string text;
  Position at;
  std::vector<std::string> paths;
  std::vector<double> values, amounts;  // what the parser's variables point to
  mu::Parser parser;
};

Formula::Formula(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
Formula::Formula(Formula&&) noexcept = default;
Formula& Formula::operator=(Formula&&) noexcept = default;
Formula::~Formula() = default;

std::optional<Formula> Formula::parse(std::string_view text, Position at, const std::vector<std::string_view>& known,
                                      Diagnostics& diags) {
  Translation t(text, at, known, diags);
  if (!t.run()) return std::nullopt;
  auto p = std::make_unique<Parsed>();
  p->text = text;
  p->at = at;
  p->paths = t.paths;
  p->values.assign(t.paths.size(), 1);
  p->amounts = t.amounts;
  try {
    p->parser.ClearConst();
    for (std::size_t i = 0; i < p->values.size(); ++i) p->parser.DefineVar(fmt::format("p{}", i), &p->values[i]);
    for (std::size_t i = 0; i < p->amounts.size(); ++i) p->parser.DefineVar(fmt::format("q{}", i), &p->amounts[i]);
    p->parser.DefineFun("floor", static_cast<mu::fun_type1>([](double v) { return std::floor(v); }));
    p->parser.DefineFun("ceil", static_cast<mu::fun_type1>([](double v) { return std::ceil(v); }));
    p->parser.DefineInfixOprt("!", [](double v) { return v == 0 ? 1.0 : 0.0; });
    p->parser.DefineOprt("%", [](double a, double b) { return std::fmod(a, b); }, mu::prMUL_DIV);
    p->parser.SetExpr(t.translated);
    p->parser.Eval();
    if (p->parser.GetNumResults() != 1) {
      diags.error(at, fmt::format("'{}' are {} expressions; write each as its own", text, p->parser.GetNumResults()));
      return std::nullopt;
    }
  } catch (const mu::Parser::exception_type& e) {
    diags.error(t.place(static_cast<std::size_t>(std::max(e.GetPos(), 0))), complaint(e));
    return std::nullopt;
  }
  return Formula(std::move(p));
}

const std::string& Formula::text() const { return parsed_->text; }
Position Formula::at() const { return parsed_->at; }
const std::vector<std::string>& Formula::paths() const { return parsed_->paths; }

double Formula::of(const std::vector<double>& values) const {
  base::check(values.size() == parsed_->values.size(), "a formula gets a value for every path");
  std::copy(values.begin(), values.end(), parsed_->values.begin());
  return parsed_->parser.Eval();
}

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#include "experiments/objectives/formula.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <muParser.h>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/parse_number.h"

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

constexpr std::array<std::pair<std::string_view, Reduction::How>, 5> kReductions = {
    {{"max", Reduction::How::kMax},
     {"min", Reduction::How::kMin},
     {"sum", Reduction::How::kSum},
     {"mean", Reduction::How::kMean},
     {"quantile", Reduction::How::kQuantile}}};

// The reduction that a function's name and what stands in its brackets write; nullopt where it is another function. The
// share of a quantile that is no number is 0.
std::optional<Reduction> reduction_of(std::string_view function, std::string_view inside) {
  const auto known =
      std::find_if(kReductions.begin(), kReductions.end(), [&](const auto& r) { return r.first == function; });
  if (known == kReductions.end()) return std::nullopt;
  Reduction out{known->second, 1, {}, {}};
  if (out.how == Reduction::How::kQuantile) {
    const std::size_t comma = std::min(inside.find(','), inside.size());
    out.share = base::parse_real(trimmed(inside.substr(0, comma))).value_or(0);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  constexpr std::string_view kOf = " of ";
  const std::size_t of = inside.find(kOf);
  // What has a bracket is an argument that may be a reduction itself.
  if (of == std::string_view::npos || inside.substr(0, of).find('(') != std::string_view::npos) return std::nullopt;
  out.quantity = trimmed(inside.substr(0, of));
  out.pattern = trimmed(inside.substr(of + kOf.size()));
  return out;
}

// The text as the parser takes it: what it has no words for, paths and amounts, are variables of short names; every
// character knows where it came from.
class Translation {
 public:
  Translation(std::string_view text, Position at, const std::vector<std::string_view>& known,
              const std::vector<std::string_view>& of_operators, Diagnostics& diags)
      : text_(text), at_(at), known_(known), of_operators_(of_operators), diags_(diags) {}

  bool run() {
    for (std::size_t i = 0; i < text_.size();) i = take(i);
    return ok_;
  }

  std::string translated;
  std::vector<std::size_t> origin;                   // of every character of `translated`
  std::vector<std::string> paths;                    // variable p<i>
  std::vector<std::optional<Reduction>> reductions;  // behind each of `paths`
  std::vector<double> amounts;                       // variable q<i>

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
    const std::size_t power = end_of(text_, unit_end, is_digit);  // mm2
    if (parse_amount(text_.substr(i, power - i))) unit_end = power;
    if (text_.substr(unit_end, 2) == "/s" && !(unit_end + 2 < text_.size() && in_name(text_[unit_end + 2])))
      unit_end += 2;
    const std::string_view amount = text_.substr(i, unit_end - i);
    if (const auto q = parse_amount(amount)) {
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
      const std::size_t close = std::min(text_.find(')', end), text_.size());
      auto reduction =
          of_operators_.empty() ? std::nullopt : reduction_of(name, text_.substr(end + 1, close - end - 1));
      if (reduction) return take_reduction(i, close, std::move(*reduction));
      put(name, i);  // a function
    } else if (std::find(known_.begin(), known_.end(), name) != known_.end()) {
      put_variable(name, i, {});
    } else {
      refuse(i, fmt::format("the chip has no number '{}'{}", name, base::did_you_mean(name, known_)));
    }
    return end;
  }

  std::size_t take_reduction(std::size_t i, std::size_t close, Reduction r) {
    if (close == text_.size())
      refuse(i, "a bracket is not closed");
    else if (std::find(of_operators_.begin(), of_operators_.end(), r.quantity) == of_operators_.end())
      refuse(i, fmt::format("operators have no '{}'{}", r.quantity, base::did_you_mean(r.quantity, of_operators_)));
    else if (r.pattern.empty())
      refuse(i, fmt::format("which operators? {} of * takes all of them", r.quantity));
    else if (!(r.share > 0 && r.share <= 1))
      refuse(i, "a quantile has a share above 0, at most 1: quantile(0.9, time of *)");
    else
      put_variable(text_.substr(i, close + 1 - i), i, std::move(r));
    return std::min(close + 1, text_.size());
  }

  void put_variable(std::string_view name, std::size_t i, std::optional<Reduction> reduction) {
    const auto found = std::find(paths.begin(), paths.end(), name);
    put(fmt::format("p{}", found - paths.begin()), i);
    if (found != paths.end()) return;
    paths.emplace_back(name);
    reductions.push_back(std::move(reduction));
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
  const std::vector<std::string_view>& of_operators_;
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

bool is_reduction(std::string_view name) {
  return std::any_of(kReductions.begin(), kReductions.end(), [&](const auto& r) { return r.first == name; });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<base::Quantity> parse_amount(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kJoules = {{{"uJ", 1e6}, {"mJ", 1e9}, {"J", 1e12}}};
  if (const auto q = base::parse_quantity(text)) return q;
  for (const auto& [unit, picojoules] : kJoules) {
    if (!text.ends_with(unit)) continue;
    const auto number = base::parse_real(trimmed(text.substr(0, text.size() - unit.size())));
    return number ? std::optional(base::Quantity{*number * picojoules, base::Dimension::kPicojoules}) : std::nullopt;
  }
  return std::nullopt;
}

bool matches(std::string_view pattern, std::string_view name) {
  // Where the last * stands, and how much of the name it takes: longer ones are tried where the rest does not fit.
  std::size_t p = 0, n = 0, star = pattern.size(), taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star < pattern.size()) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

struct Formula::Parsed {
  std::string text;
  Position at;
  std::vector<std::string> paths;
  std::vector<std::optional<Reduction>> reductions;
  std::vector<double> values, amounts;  // what the parser's variables point to
  mu::Parser parser;
};

Formula::Formula(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
Formula::Formula(Formula&&) noexcept = default;
Formula& Formula::operator=(Formula&&) noexcept = default;
Formula::~Formula() = default;

std::optional<Formula> Formula::parse(std::string_view text, Position at, const std::vector<std::string_view>& known,
                                      Diagnostics& diags, const std::vector<std::string_view>& of_operators) {
  Translation t(text, at, known, of_operators, diags);
  if (!t.run()) return std::nullopt;
  auto p = std::make_unique<Parsed>();
  p->text = text;
  p->at = at;
  p->paths = t.paths;
  p->reductions = t.reductions;
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
const std::vector<std::optional<Reduction>>& Formula::reductions() const { return parsed_->reductions; }

double Formula::of(const std::vector<double>& values) const {
  base::check(values.size() == parsed_->values.size(), "a formula gets a value for every path");
  std::copy(values.begin(), values.end(), parsed_->values.begin());
  return parsed_->parser.Eval();
}

}  // namespace tilescope::experiments

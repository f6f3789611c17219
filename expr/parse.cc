// SPDX-License-Identifier: Apache-2.0
#include "expr/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "expr/detail/parse_index.h"
#include "expr/lexer.h"

namespace tilescope::expr {
namespace {

bool same(const NamedCoordinate& a, const NamedCoordinate& b) {
  const auto in_b = [&](const NamedTerm& t) {
    return std::any_of(b.terms.begin(), b.terms.end(),
                       [&](const NamedTerm& o) { return o.axis == t.axis && o.coefficient == t.coefficient; });
  };
  return a.offset == b.offset && a.divisor == b.divisor && a.modulus == b.modulus && a.table == b.table &&
         a.terms.size() == b.terms.size() && std::all_of(a.terms.begin(), a.terms.end(), in_b);
}

bool same(const NamedRead& a, const NamedRead& b) {
  return a.tensor == b.tensor && a.outside == b.outside &&
         std::equal(a.coordinates.begin(), a.coordinates.end(), b.coordinates.begin(), b.coordinates.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

// Index of an enumerator's spelling.
std::optional<std::size_t> index_in(const std::vector<std::string_view>& spellings, std::string_view word) {
  const auto found = std::find(spellings.begin(), spellings.end(), word);
  if (found == spellings.end()) return std::nullopt;
  return static_cast<std::size_t>(found - spellings.begin());
}

// Those that are called by a name.
std::vector<std::string_view> words(std::vector<std::string_view> spellings) {
  std::erase_if(spellings, [](std::string_view s) { return s.front() < 'a' || s.front() > 'z'; });
  return spellings;
}

// The text with every run of white space as one space.
std::string normalised(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space)
      out += c;
    else if (out.back() != ' ')
      out += ' ';
  }
  return out;
}

// Reads one stage up to the `;` or the end.
class StageReader {
 public:
  explicit StageReader(Cursor& cursor) : cursor_(cursor) {}

  ParsedStage read() {
    const std::string_view first = cursor_.peek().text;
    output();
    reducer();
    value();
    if (!cursor_.failed() && !cursor_.at_symbol(';') && !cursor_.at_kind(TokenKind::kEnd))
      cursor_.fail_expected("an operator, or ';' before the next stage");
    if (cursor_.failed()) return {};
    const std::string_view last = cursor_.last().text;
    stage_.text = normalised({first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())});
    check_axes();
    return std::move(stage_);
  }

 private:
  // C[m,n]
  void output() {
    if (!cursor_.at_kind(TokenKind::kIdentifier))
      return cursor_.fail_expected("a stage such as 'C[m,n] +=! A[m,k] * B[k,n]'");
    const Token name = cursor_.take();
    stage_.output = name.text;
    stage_.output_at = name.at;
    if (!cursor_.expect_symbol('[', fmt::format("after the output '{}'", name.text))) return;
    do output_axis();
    while (cursor_.take_symbol(','));
    cursor_.expect_symbol(']', fmt::format("after the coordinates of '{}'", name.text));
  }

  void output_axis() {
    const Token axis = cursor_.peek();
    if (axis.kind == TokenKind::kIdentifier) cursor_.take();
    const bool bare = cursor_.at_symbol(',') || cursor_.at_symbol(']') || cursor_.at_kind(TokenKind::kEnd);
    if (axis.kind != TokenKind::kIdentifier || (!bare && cursor_.at_kind(TokenKind::kSymbol)))
      return cursor_.fail_expected(fmt::format("a bare axis as a coordinate of the output '{}'", stage_.output));
    auto& axes = stage_.output_axes;
    if (std::any_of(axes.begin(), axes.end(), [&](const NamedScalar& a) { return a.name == axis.text; }))
      cursor_.error(axis.at, fmt::format("axis '{}' indexes the output '{}' twice", axis.text, stage_.output));
    axes.push_back({std::string(axis.text), axis.at});
    if (axes.size() == kMaxRank + 1)
      cursor_.error(axis.at, fmt::format("'{}' has more than {} coordinates", stage_.output, kMaxRank));
  }

  void reducer() {
    if (cursor_.failed()) return;
    if (!cursor_.at_kind(TokenKind::kAssign))
      return cursor_.fail_expected(fmt::format("'=' or a reducer such as '+=!' after '{}[...]'", stage_.output));
    const Token word = cursor_.take();
    const auto spellings = reducer_spellings();
    const auto index = index_in(spellings, word.text);
    stage_.reducer = index ? static_cast<Reducer>(*index) : Reducer::kSum;  // a guess, to go on reading
    if (index) return;
    const std::vector<std::string_view> reducers(spellings.begin() + 1, spellings.end());
    cursor_.error(word.at, fmt::format("unknown reducer '{}', expected one of {}{}", word.text,
                                       fmt::join(spellings, " "), base::did_you_mean(word.text, reducers)));
  }

  // The parts of the body push their nodes and return the index of the last one.
  int value() {
    return left_to_right({Function::kOr}, [&] {
      return left_to_right({Function::kAnd}, [&] {
        const int left = sum();
        const auto sign = operator_of({Function::kLess, Function::kLessEqual, Function::kGreater,
                                       Function::kGreaterEqual, Function::kEqual, Function::kNotEqual});
        if (!sign) return left;
        const int right = sum();
        return push({.kind = NodeKind::kCall, .function = *sign, .left = left, .right = right});
      });
    });
  }

  // Takes the operator if it is one of these.
  std::optional<Function> operator_of(std::initializer_list<Function> signs) {
    if (cursor_.failed()) return std::nullopt;
    for (const Function f : signs)
      if (cursor_.at_operator(spelling(f))) return cursor_.take(), f;
    return std::nullopt;
  }

  template <class Operand>
  int left_to_right(std::initializer_list<Function> signs, const Operand& operand) {
    int left = operand();
    while (const auto sign = operator_of(signs)) {
      const int right = operand();
      left = push({.kind = NodeKind::kCall, .function = *sign, .left = left, .right = right});
    }
    return left;
  }

  int sum() {
    int left = product();
    while (!cursor_.failed() && (cursor_.at_symbol('+') || cursor_.at_symbol('-'))) {
      const NodeKind kind = cursor_.take().text == "+" ? NodeKind::kAdd : NodeKind::kSubtract;
      const int right = product();
      left = push({.kind = kind, .left = left, .right = right});
    }
    return left;
  }

  int product() {
    int left = factor();
    while (!cursor_.failed() && (cursor_.at_symbol('*') || cursor_.at_symbol('/') || cursor_.at_symbol('%'))) {
      const char sign = cursor_.take().text.front();
      const int right = factor();
      if (sign == '%')
        left = push({.kind = NodeKind::kCall, .function = Function::kMod, .left = left, .right = right});
      else
        left = push({.kind = sign == '*' ? NodeKind::kMultiply : NodeKind::kDivide, .left = left, .right = right});
    }
    return left;
  }

  int factor() {
    const Nesting nesting(cursor_);
    if (cursor_.failed()) return -1;
    if (cursor_.take_symbol('-')) {
      const int operand = factor();
      return push({.kind = NodeKind::kNegate, .left = operand});
    }
    if (operator_of({Function::kNot})) {
      const int operand = factor();
      return push({.kind = NodeKind::kCall, .function = Function::kNot, .left = operand});
    }
    if (cursor_.take_symbol('(')) {
      const int inner = value();
      cursor_.expect_symbol(')', "to close '('");
      return inner;
    }
    if (cursor_.at_kind(TokenKind::kNumber) || cursor_.at_kind(TokenKind::kInteger)) return number(cursor_.take());
    if (cursor_.at_kind(TokenKind::kIdentifier)) return named(cursor_.take());
    cursor_.fail_expected("a value");
    return -1;
  }

  int number(const Token& token) {
    stage_.number_at.push_back(token.at);
    return push({.kind = NodeKind::kNumber, .number = value_of(token)});
  }

  double value_of(const Token& token) {
    double value = 0;
    const char* end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, value).ec != std::errc{})
      cursor_.error(token.at, fmt::format("the number {} does not fit a 64-bit float", token.text));
    return value;
  }

  int named(const Token& name) {
    if (cursor_.take_symbol('[')) return tensor(name);
    if (cursor_.take_symbol('(')) return call(name);
    if (name.text == kInfinity) {
      stage_.number_at.push_back(name.at);
      return push({.kind = NodeKind::kNumber, .number = std::numeric_limits<double>::infinity()});
    }
    if (index_in(function_spellings(), name.text))
      cursor_.error(name.at, fmt::format("the function '{}' needs its argument in parentheses", name.text));
    return scalar(name);
  }

  int tensor(const Token& name) {
    auto at = parse_coordinates(cursor_, name, [&](NamedRead table) { return add_read(std::move(table)); });
    if (!at) return -1;
    NamedRead read{std::string(name.text), std::move(*at), name.at, std::nullopt};
    if (cursor_.at_kind(TokenKind::kIdentifier) && cursor_.peek().text == "else") {
      const Token word = cursor_.peek();
      read.outside = outside();
      if (std::any_of(read.coordinates.begin(), read.coordinates.end(), [](const auto& c) { return c.table >= 0; }))
        cursor_.error(word.at,
                      fmt::format("'else' after '{}', whose coordinate is read from a table: its indices have to "
                                  "be inside",
                                  name.text));
    }
    return push({.kind = NodeKind::kRead, .index = add_read(std::move(read))});
  }

  // Its position among the stage's reads, each once.
  int add_read(NamedRead read) {
    auto& reads = stage_.reads;
    const auto found = std::find_if(reads.begin(), reads.end(), [&](const NamedRead& r) { return same(r, read); });
    const auto index = static_cast<int>(found - reads.begin());
    if (found != reads.end()) return index;
    if (reads.size() == kMaxReads)
      cursor_.error(read.at, fmt::format("a stage has at most {} different reads", kMaxReads));
    reads.push_back(std::move(read));
    return index;
  }

  // `else -inf`
  std::optional<double> outside() {
    cursor_.take();
    const double sign = cursor_.take_symbol('-') ? -1 : 1;
    const bool is_infinity = cursor_.at_kind(TokenKind::kIdentifier) && cursor_.peek().text == kInfinity;
    if (is_infinity) return cursor_.take(), sign * std::numeric_limits<double>::infinity();
    if (cursor_.at_kind(TokenKind::kNumber) || cursor_.at_kind(TokenKind::kInteger))
      return sign * value_of(cursor_.take());
    cursor_.fail_expected("a number after 'else'");
    return std::nullopt;
  }

  int scalar(const Token& name) {
    auto& scalars = stage_.scalars;
    const auto found =
        std::find_if(scalars.begin(), scalars.end(), [&](const NamedScalar& s) { return s.name == name.text; });
    const auto index = static_cast<int>(found - scalars.begin());
    if (found == scalars.end()) scalars.push_back({std::string(name.text), name.at});
    return push({.kind = NodeKind::kScalar, .index = index});
  }

  int call(const Token& name) {
    const auto spellings = function_spellings();
    const auto index = index_in(spellings, name.text);
    if (!index)
      cursor_.error(name.at, fmt::format("unknown function '{}', expected one of {}{}", name.text,
                                         fmt::join(words(spellings), " "), base::did_you_mean(name.text, spellings)));
    std::vector<int> operands;
    do operands.push_back(value());
    while (cursor_.take_symbol(','));
    if (!cursor_.expect_symbol(')', fmt::format("after the arguments of '{}'", name.text)) || !index) return -1;
    const auto function = static_cast<Function>(*index);
    if (std::cmp_not_equal(operands.size(), arity(function))) {
      cursor_.error(name.at, fmt::format("'{}' takes {} argument{}, got {}", name.text, arity(function),
                                         arity(function) == 1 ? "" : "s", operands.size()));
      return -1;
    }
    operands.resize(3, -1);
    return push({.kind = NodeKind::kCall,
                 .function = function,
                 .left = operands[0],
                 .right = operands[1],
                 .third = operands[2]});
  }

  int push(const Node& node) {
    stage_.body.push_back(node);
    return static_cast<int>(stage_.body.size()) - 1;
  }

  // Limits the number of axes, and wants a reducer where there is something to reduce.
  void check_axes() {
    std::vector<std::string_view> seen;
    for (const NamedScalar& a : stage_.output_axes) seen.push_back(a.name);
    for (const NamedRead& read : stage_.reads)
      for (const NamedCoordinate& c : read.coordinates)
        for (const NamedTerm& t : c.terms) {
          if (std::find(seen.begin(), seen.end(), t.axis) != seen.end()) continue;
          seen.push_back(t.axis);
          check_new_axis(t, seen.size());
        }
  }

  void check_new_axis(const NamedTerm& t, std::size_t count) {
    if (stage_.reducer == Reducer::kNone)
      cursor_.error(t.at, fmt::format("axis '{}' is not an index of the output; sum over it with '+=!'", t.axis));
    if (count == kMaxAxes + 1) cursor_.error(t.at, fmt::format("a stage has at most {} axes", kMaxAxes));
  }

  Cursor& cursor_;
  ParsedStage stage_;
};

}  // namespace

std::optional<std::vector<ParsedStage>> parse(std::string_view text, base::Position at, base::Diagnostics& diags) {
  if (text.size() > kMaxText) {
    diags.error(at, fmt::format("an expression is at most {} bytes long, got {}", kMaxText, text.size()));
    return std::nullopt;
  }
  Cursor cursor(text, at, ';', diags);
  std::vector<ParsedStage> stages;
  do {
    cursor.begin_part();
    if (stages.size() == kMaxStages) {
      cursor.fail(cursor.peek().at, fmt::format("an expression has at most {} stages", kMaxStages));
      break;
    }
    stages.push_back(StageReader(cursor).read());
    cursor.begin_part();
  } while (cursor.take_symbol(';') && !cursor.at_kind(TokenKind::kEnd));
  if (cursor.has_errors()) return std::nullopt;
  return stages;
}

}  // namespace tilescope::expr

// SPDX-License-Identifier: Apache-2.0
// Reads one line of a block: a call, a constant, or stages of index notation.

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "graph/detail/description.h"

namespace tilescope::graph {
namespace {

constexpr std::array<std::string_view, 3> kFunctions = {"min", "max", "ceil_div"};
constexpr int kMaxCallDepth = 32;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What is wrong, and where in the line. It leaves the functions that read one.
struct Mistake {
  std::size_t at;
  std::string text;
};

// A part of the line: characters from `begin` to `end`.
struct Part {
  std::size_t begin, end;
};

class LineReader {
 public:
  LineReader(std::string_view text, base::Position at) : text_(text), at_(at) {}

  Line read() {
    Line out{at_, {}, {}};
    const Part all = trimmed({0, text_.size()});
    if (all.begin == all.end) fail(0, "expected a node, got nothing");
    const std::size_t name = end_of_word(all.begin);
    if (name > all.begin && name < all.end && text_[name] == '[' && writes(name)) {
      out.targets.push_back({std::string(text_.substr(all.begin, name - all.begin)), place(all.begin)});
      out.what = stages(all);
      return out;
    }
    const std::size_t equals = top_level('=', all);
    if (equals == all.end) {
      out.what = argument(all, 0);
      return out;
    }
    for (const Part& part : split({all.begin, equals})) {
      if (!is_word(text_of(part))) fail(part.begin, fmt::format("expected a name before '=', got '{}'", text_of(part)));
      out.targets.push_back({std::string(text_of(part)), place(part.begin)});
    }
    if (out.targets.empty()) fail(equals, "expected a name before '='");
    out.what = argument(trimmed({equals + 1, all.end}), 0);
    return out;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, std::string text) { throw Mistake{at, std::move(text)}; }

  base::Position place(std::size_t i) const {
    return {at_.source, at_.line, at_.column + static_cast<std::uint32_t>(i)};
  }
  std::string_view text_of(const Part& p) const { return text_.substr(p.begin, p.end - p.begin); }
  Number number(const Part& p) const { return {std::string(text_of(p)), place(p.begin)}; }

  Part trimmed(Part p) const {
    while (p.begin < p.end && is_space(text_[p.begin])) ++p.begin;
    while (p.begin < p.end && is_space(text_[p.end - 1])) --p.end;
    return p;
  }

  std::size_t end_of_word(std::size_t i) const {
    if (i == text_.size() || !is_letter(text_[i])) return i;
    while (i < text_.size() && (is_letter(text_[i]) || is_digit(text_[i]))) ++i;
    return i;
  }

  // Whether an assignment or a reducer follows the coordinates whose bracket stands at `open`.
  bool writes(std::size_t open) const {
    const std::size_t close = text_.find(']', open);
    if (close == std::string_view::npos) return false;
    return text_.find('=', close) != std::string_view::npos;
  }

  // The first such character outside of brackets and quotes, or the part's end.
  std::size_t top_level(char c, Part p) const {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = p.begin; i < p.end; ++i) {
      const char now = text_[i];
      if (now == '\'') quoted = !quoted;
      if (quoted) continue;
      if (depth == 0 && now == c) return i;
      if (now == '(' || now == '[' || now == '{') ++depth;
      if (now == ')' || now == ']' || now == '}') {
        if (depth == 0) fail(i, fmt::format("'{}' closes no bracket", now));
        --depth;
      }
    }
    if (quoted) fail(p.begin, "a quote that does not end");
    if (depth > 0) fail(p.begin, "a bracket that is not closed");
    return p.end;
  }

  std::vector<Part> split(Part p) const {
    std::vector<Part> out;
    p = trimmed(p);
    if (p.begin == p.end) return out;
    for (;;) {
      const std::size_t comma = top_level(',', p);
      const Part part = trimmed({p.begin, comma});
      if (part.begin == part.end) fail(p.begin, "expected a value, got nothing");
      out.push_back(part);
      if (comma == p.end) return out;
      p.begin = comma + 1;
    }
  }

  // What stands between the bracket at `open` and the part's end, which has to close it.
  Part inside(std::size_t open, const Part& p) const {
    const char close = text_[open] == '(' ? ')' : ']';
    const std::size_t end = top_level(close, {open + 1, p.end});
    if (end == p.end) fail(open, fmt::format("expected '{}' for this '{}'", close, text_[open]));
    if (end + 1 != p.end) fail(end + 1, fmt::format("expected nothing more, got '{}'", text_.substr(end + 1, 12)));
    return {open + 1, end};
  }

  // A number with a point or an exponent, or infinity; nothing where the text is another.
  static std::optional<double> real(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const double sign = negative ? -1 : 1;
    if (text == "inf") return sign * HUGE_VAL;
    if (text.empty() || !is_digit(text.front()) || text.find_first_of(".eE") == std::string_view::npos)
      return std::nullopt;
    const auto value = base::parse_real(text);
    return value ? std::optional(sign * *value) : std::nullopt;
  }

  Argument argument(const Part& p, int depth) const {
    if (p.begin == p.end) fail(p.begin, "expected a value, got nothing");
    if (depth > kMaxCallDepth) fail(p.begin, fmt::format("calls inside more than {} others", kMaxCallDepth));
    Argument out{{}, place(p.begin)};
    if (text_[p.begin] == '[') {
      const std::vector<Part> parts = split(inside(p.begin, p));
      std::vector<double> reals;
      for (const Part& part : parts)
        if (const auto value = real(text_of(part))) reals.push_back(*value);
      if (!reals.empty() && reals.size() == parts.size()) {
        out.is = Reals{reals, false};
      } else {
        Wholes w;
        for (const Part& part : parts) w.numbers.push_back(number(part));
        out.is = std::move(w);
      }
      return out;
    }
    if (const auto value = real(text_of(p))) {
      out.is = Reals{{*value}, true};
      return out;
    }
    const std::size_t end = end_of_word(p.begin);
    const std::string name(text_.substr(p.begin, end - p.begin));
    const bool function = std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
    if (end > p.begin && end == p.end) {
      out.is = Named{name};
    } else if (end > p.begin && end < p.end && text_[end] == '[') {
      NewTensor t{name, {}};
      for (const Part& part : split(inside(end, p))) t.shape.push_back(number(part));
      out.is = std::move(t);
    } else if (end > p.begin && end < p.end && text_[end] == '(' && !function) {
      out.is = std::vector<Call>{call(name, p, end, depth)};
    } else {
      out.is = Wholes{{number(p)}, true};
    }
    return out;
  }

  Call call(const std::string& name, const Part& p, std::size_t open, int depth) const {
    Call out{name, place(p.begin), {}, {}, {}};
    for (const Part& part : split(inside(open, p))) {
      const std::size_t equals = top_level('=', part);
      if (equals == part.end) {
        if (!out.settings.empty() || out.times)
          fail(part.begin, "expected name=value, for one stands before it; tensors stand first");
        out.arguments.push_back(argument(part, depth + 1));
        continue;
      }
      const Part word = trimmed({part.begin, equals}), value = trimmed({equals + 1, part.end});
      if (!is_word(text_of(word))) fail(part.begin, fmt::format("expected a name before '=', got '{}'", text_of(word)));
      if (value.begin == value.end) fail(equals, fmt::format("expected a value after {}=", text_of(word)));
      if (text_of(word) == "times")
        out.times = number(value);
      else
        out.settings.push_back(setting(word, value));
    }
    return out;
  }

  Setting setting(const Part& word, const Part& value) const {
    Setting out{std::string(text_of(word)), {}, place(word.begin)};
    const std::string_view text = text_of(value);
    if (text.front() == '\'') {
      if (text.size() < 2 || text.back() != '\'') fail(value.begin, "a quote that does not end");
      out.value = std::string(text.substr(1, text.size() - 2));
    } else if (text.front() == '[') {
      const Argument list = argument(value, 0);
      if (const auto* reals = std::get_if<Reals>(&list.is))
        out.value = reals->numbers;
      else
        out.value = std::get<Wholes>(list.is).numbers;
    } else if (const auto number_of = real(text)) {
      out.value = *number_of;
    } else {
      out.value = number(value);
    }
    return out;
  }

  // `... for i=4, j=n`, behind the last stage.
  Stages stages(const Part& all) const {
    constexpr std::string_view kFor = " for ";
    const std::size_t split_at = text_of(all).rfind(kFor);
    const bool sized = split_at != std::string_view::npos;
    const Part text = sized ? Part{all.begin, all.begin + split_at} : all;
    Stages out{std::string(text_of(text)), place(all.begin), {}};
    if (!sized) return out;
    for (const Part& part : split({text.end + kFor.size(), all.end})) {
      const std::size_t equals = top_level('=', part);
      const Part word = trimmed({part.begin, equals});
      if (equals == part.end || !is_word(text_of(word)))
        fail(part.begin, fmt::format("expected the size of an axis such as i=4, got '{}'", text_of(part)));
      out.sizes.emplace_back(text_of(word), number(trimmed({equals + 1, part.end})));
    }
    return out;
  }

  std::string_view text_;
  base::Position at_;
};

}  // namespace

bool is_word(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::optional<Line> parse_line(std::string_view text, base::Position at, base::Diagnostics& diags) {
  try {
    return LineReader(text, at).read();
  } catch (const Mistake& m) {
    diags.error({at.source, at.line, at.column + static_cast<std::uint32_t>(m.at)}, m.text);
    return std::nullopt;
  }
}

}  // namespace tilescope::graph

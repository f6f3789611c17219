// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/detail/prelude.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"

namespace tilescope::cuda {
namespace {

using Words = std::vector<std::string>;

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool goes_on_word(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string_view> source_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view without_blanks(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

// --- directives

std::string_view macro_of(Dialect d) {
  return d == Dialect::kCuda ? "__CUDACC__" : d == Dialect::kHip ? "__HIP__" : "TILESCOPE_ON_CPU";
}

// The value of a directive's condition; none where it is not about the compiler.
std::optional<bool> decided(std::string_view condition, Dialect dialect) {
  const bool negated = condition.starts_with('!');
  if (negated) condition.remove_prefix(1);
  for (const Dialect d : {Dialect::kCuda, Dialect::kHip, Dialect::kCpu})
    if (condition == "defined(" + std::string(macro_of(d)) + ")") return (d == dialect) != negated;
  return std::nullopt;
}

// The lines that a compiler sees, without the directives that select them.
std::vector<std::string_view> selected(std::string_view source, Dialect dialect) {
  struct If {
    bool ours = false, taken = false, now = true;
  };
  std::vector<If> open;
  std::vector<std::string_view> out;
  for (const std::string_view line : source_lines(source)) {
    if (line.starts_with("#if")) {
      const auto value = line.starts_with("#if ") ? decided(line.substr(4), dialect) : std::nullopt;
      open.push_back({value.has_value(), value.value_or(true), value.value_or(true)});
      if (value) continue;
    } else if (line.starts_with("#el") && open.back().ours) {
      const bool value = line == "#else" || decided(line.substr(6), dialect).value();
      open.back().now = value && !open.back().taken;
      open.back().taken = open.back().taken || value;
      continue;
    } else if (line.starts_with("#endif")) {
      const bool ours = open.back().ours;
      const bool shown = std::all_of(open.begin(), open.end(), [](const If& i) { return i.now; });
      open.pop_back();
      if (!ours && shown) out.push_back(line);
      continue;
    }
    if (std::all_of(open.begin(), open.end(), [](const If& i) { return i.now; })) out.push_back(line);
  }
  base::check(open.empty(), "every #if of the prelude ends");
  return out;
}

constexpr std::string_view kOwnMacros = "TILESCOPE_";

// Replaces the macros that the sources have for themselves; an empty one goes with the blank before it.
std::string replaced(std::string_view line, const std::map<std::string, std::string, std::less<>>& macros) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    if (!begins_word(line[at])) {
      out += line[at++];
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && goes_on_word(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    const auto macro = macros.find(word);
    if (macro != macros.end() && (macro->second.empty() || macro->second.starts_with(',')) && out.ends_with(' '))
      out.pop_back();
    out += macro == macros.end() ? std::string(word) : macro->second;
    at = end;
  }
  return out;
}

std::vector<std::string> expanded(const std::vector<std::string_view>& lines) {
  std::map<std::string, std::string, std::less<>> macros;
  std::vector<std::string> out;
  const std::string define = "#define " + std::string(kOwnMacros);
  for (const std::string_view line : lines) {
    if (!line.starts_with(define)) {
      out.push_back(replaced(line, macros));
      continue;
    }
    const std::string_view rest = line.substr(std::string_view("#define ").size());
    const std::size_t end = std::min(rest.find(' '), rest.size());
    macros[std::string(rest.substr(0, end))] = without_blanks(rest.substr(end));
  }
  return out;
}

// --- definitions

// The tokens of code: words, strings as one blank text, and single characters. Comments are none.
Words tokens_of(std::string_view text) {
  Words out;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      out.emplace_back();
      at = end + 1;
    } else if (goes_on_word(c)) {
      std::size_t end = at;
      while (end < text.size() && goes_on_word(text[end])) ++end;
      out.emplace_back(text.substr(at, end - at));
      at = end;
    } else {
      if (c != ' ' && c != '\n') out.emplace_back(1, c);
      ++at;
    }
  }
  return out;
}

bool is_word(const std::string& token) { return !token.empty() && begins_word(token.front()); }

// The token after the group that opens at `at`.
std::size_t behind_group(const Words& t, std::size_t at) {
  const std::string& open = t[at];
  const std::string close = open == "(" ? ")" : open == "<" ? ">" : "}";
  int depth = 0;
  for (; at < t.size(); ++at) {
    depth += t[at] == open ? 1 : t[at] == close ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return at;
}

// The name of a definition that is no directive: the word before its parameters, its members, its "=" or its end.
std::string name_of(const Words& t) {
  std::string last;
  for (std::size_t at = 0; at < t.size();) {
    const bool attribute = t[at] == "__attribute__" || t[at] == "alignas";
    if (attribute || (t[at] == "template" && t[at + 1] == "<")) {
      at = behind_group(t, at + 1);
    } else if (is_word(t[at])) {
      last = t[at++];
    } else if (t[at] == "(" || t[at] == "{" || t[at] == "=" || t[at] == ";" || t[at] == "<") {
      return last;
    } else {
      ++at;
    }
  }
  return last;
}

Words sorted(Words words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

Words names_in(const Words& tokens) {
  Words out;
  for (std::size_t at = 0; at + 2 < tokens.size(); ++at)
    if (tokens[at] == "#" && tokens[at + 1] == "define") out.push_back(tokens[at + 2]);
  return out.empty() ? Words{name_of(tokens)} : sorted(std::move(out));
}

Definition definition(std::string text, bool close) {
  const Words tokens = tokens_of(text);
  Words words;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(words), is_word);
  Words names = names_in(tokens);
  return {std::move(text), std::move(names), sorted(std::move(words)), close};
}

// By how much a line opens more groups than it closes.
int opened_by(std::string_view line) {
  int depth = 0;
  for (const std::string& t : tokens_of(line))
    depth += t == "(" || t == "{" || t == "[" ? 1 : t == ")" || t == "}" || t == "]" ? -1 : 0;
  return depth;
}

bool ends_definition(std::string_view line) {
  const Words tokens = tokens_of(line);
  return !tokens.empty() && (tokens.back() == ";" || tokens.back() == "}");
}

const std::vector<Definition>& prelude(Dialect dialect) {
  static const std::array<std::vector<Definition>, 3> kAll = {definitions_in(prelude_source(), Dialect::kCuda),
                                                              definitions_in(prelude_source(), Dialect::kHip),
                                                              definitions_in(prelude_source(), Dialect::kCpu)};
  return kAll[static_cast<std::size_t>(dialect)];
}

// The definitions for which `needed` holds.
template <class Needed>
std::string selected_text(Dialect dialect, const Needed& needed) {
  std::string out;
  const std::vector<Definition>& all = prelude(dialect);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!needed(i)) continue;
    const bool close = all[i].close && i > 0 && needed(i - 1);
    out += (out.empty() || close ? "" : "\n") + all[i].text;
  }
  return out;
}

}  // namespace

std::vector<Definition> definitions_in(std::string_view source, Dialect dialect) {
  std::vector<Definition> out;
  std::string text;
  int depth = 0, directives = 0;
  bool code = false, close = false;  // of what is in `text`
  const auto end = [&] {
    if (code) out.push_back(definition(std::move(text), close));
    close = code;
    code = false;
    text.clear();
  };
  for (const std::string& line : expanded(selected(source, dialect))) {
    if (without_blanks(line).empty() && depth == 0 && directives == 0) {
      end();
      close = false;
      continue;
    }
    text += line + "\n";
    const bool comment = without_blanks(line).starts_with("//"), directive = line.starts_with("#");
    code = code || !comment;
    if (directive) directives += line.starts_with("#if") ? 1 : line.starts_with("#endif") ? -1 : 0;
    if (!directive) depth += opened_by(line);
    if (depth == 0 && directives == 0 && (directive || ends_definition(line))) end();
  }
  end();
  return out;
}

std::string prelude_for(std::string_view text, Dialect dialect) {
  const std::vector<Definition>& all = prelude(dialect);
  std::multimap<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& n : all[i].names) by_name.emplace(n, i);
  std::vector<char> needed(all.size(), 0);
  std::vector<std::size_t> found;
  const auto find = [&](const Words& words) {
    for (const std::string& w : words)
      for (auto [at, last] = by_name.equal_range(w); at != last; ++at)
        if (std::exchange(needed[at->second], 1) == 0) found.push_back(at->second);
  };
  find(tokens_of(text));
  while (!found.empty()) {
    const std::size_t next = found.back();
    found.pop_back();
    find(all[next].mentioned);
  }
  return selected_text(dialect, [&](std::size_t i) { return needed[i] != 0; });
}

std::string whole_prelude(Dialect dialect) {
  return selected_text(dialect, [](std::size_t) { return true; });
}

const std::vector<std::string>& prelude_names() {
  static const Words kNames = [] {
    Words all;
    for (const Dialect d : {Dialect::kCuda, Dialect::kHip, Dialect::kCpu})
      for (const Definition& one : prelude(d)) all.insert(all.end(), one.names.begin(), one.names.end());
    return sorted(std::move(all));
  }();
  return kNames;
}

}  // namespace tilescope::cuda

// SPDX-License-Identifier: Apache-2.0
#include "import/text_readers.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

namespace tilescope::importers {
namespace {

using base::Position;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// A text cut into lines, each with its place.
struct Line {
  std::string_view text;
  Position at;
};

std::vector<Line> lines_of(std::string_view text, base::SourceId source) {
  std::vector<Line> out;
  std::uint32_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back({text.substr(begin, end - begin), {source, number, 1}});
    begin = end + 1;
  }
  return out;
}

// Without the blanks around it.
Line trimmed(Line line) {
  while (!line.text.empty() && is_blank(line.text.front())) {
    line.text.remove_prefix(1);
    ++line.at.column;
  }
  while (!line.text.empty() && is_blank(line.text.back())) line.text.remove_suffix(1);
  return line;
}

Line before(Line line, std::string_view comments) {
  return trimmed({line.text.substr(0, line.text.find_first_of(comments)), line.at});
}

Line part(const Line& line, std::size_t begin, std::size_t end) {
  return trimmed({line.text.substr(begin, end - begin),
                  {line.at.source, line.at.line, line.at.column + static_cast<std::uint32_t>(begin)}});
}

// Notes each key that is given again.
void note_repeats(const std::vector<Key>& keys, base::Diagnostics& diags) {
  std::set<std::string_view> seen;
  for (const Key& key : keys)
    if (!seen.insert(key.name).second)
      diags.note(key.at, fmt::format("{}: given again; the last one counts", key.name));
}

// Words of a command line in a file; a quoted one may span lines.
class Words {
 public:
  Words(std::string_view text, base::SourceId source) : text_(text), at_{source, 1, 1} {}

  struct Word {
    std::string text;
    Position at;
    bool quoted = false, closed = true;
  };

  std::optional<Word> next() {
    skip();
    if (i_ == text_.size()) return std::nullopt;
    Word word{{}, at_, text_[i_] == '"', true};
    if (word.quoted) {
      step();
      word.at = at_;
      while (i_ < text_.size() && text_[i_] != '"') word.text += step();
      word.closed = i_ < text_.size();
      if (word.closed) step();
    } else {
      while (i_ < text_.size() && !is_space(text_[i_]) && text_[i_] != '#') word.text += step();
    }
    return word;
  }

 private:
  static bool is_space(char c) { return is_blank(c) || c == '\n'; }

  char step() {
    const char c = text_[i_++];
    if (c == '\n')
      at_ = {at_.source, at_.line + 1, 1};
    else
      ++at_.column;
    return c;
  }

  // Blanks, and comments up to the ends of their lines.
  void skip() {
    while (i_ < text_.size() && (is_space(text_[i_]) || text_[i_] == '#')) {
      if (text_[i_] == '#')
        while (i_ < text_.size() && text_[i_] != '\n') step();
      else
        step();
    }
  }

  std::string_view text_;
  std::size_t i_ = 0;
  Position at_;
};

bool is_option(const Words::Word& word) {
  return !word.quoted && word.text.size() > 1 && word.text[0] == '-' && (word.text[1] < '0' || word.text[1] > '9') &&
         word.text[1] != '.';
}

}  // namespace

std::vector<Key> read_options(std::string_view text, base::SourceId source, base::Diagnostics& diags) {
  std::vector<Key> out;
  Words words(text, source);
  bool waits = false;  // the last option has no value yet
  while (const auto word = words.next()) {
    if (!word->closed) diags.error(word->at, "a quote is not closed");
    if (is_option(*word)) {
      if (waits) diags.error(out.back().at, fmt::format("-{}: has no value", out.back().name));
      out.push_back({word->text.substr(word->text.find_first_not_of('-') == std::string::npos
                                           ? word->text.size()
                                           : word->text.find_first_not_of('-')),
                     {},
                     word->at});
      waits = true;
    } else if (out.empty()) {
      diags.error(word->at, fmt::format("expected an option such as -gpgpu_n_clusters, got '{}'", word->text));
      return out;
    } else if (waits) {
      out.back().text = word->text;
      out.back().at = word->at;
      waits = false;
    } else {
      out.back().text += ' ' + word->text;
    }
  }
  if (waits) diags.error(out.back().at, fmt::format("-{}: has no value", out.back().name));
  note_repeats(out, diags);
  return out;
}

std::vector<Key> read_ini(std::string_view text, base::SourceId source, base::Diagnostics& diags) {
  std::vector<Key> out;
  std::string section;
  for (const Line& whole : lines_of(text, source)) {
    const Line line = before(whole, ";#");
    if (line.text.empty()) continue;
    if (line.text.front() == '[') {
      if (line.text.back() != ']') diags.error(line.at, "the bracket of a section is not closed");
      section = std::string(line.text.substr(1, line.text.find(']') - 1));
      continue;
    }
    const std::size_t equals = line.text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      diags.error(line.at, fmt::format("expected name = value, got '{}'", line.text.substr(0, 40)));
      continue;
    }
    const Line name = part(line, 0, equals), value = part(line, equals + 1, line.text.size());
    if (value.text.empty()) diags.error(name.at, fmt::format("{}: has no value", name.text));
    out.push_back({(section.empty() ? "" : section + '.') + std::string(name.text), std::string(value.text), value.at});
  }
  note_repeats(out, diags);
  return out;
}

std::vector<CsvRow> read_csv(std::string_view text, base::SourceId source) {
  std::vector<CsvRow> out;
  for (const Line& whole : lines_of(text, source)) {
    const Line line = before(whole, "#");
    if (line.text.empty()) continue;
    CsvRow row;
    for (std::size_t begin = 0; begin <= line.text.size();) {
      const std::size_t end = std::min(line.text.find(',', begin), line.text.size());
      const Line cell = part(line, begin, end);
      row.push_back({std::string(cell.text), cell.at});
      begin = end + 1;
    }
    if (row.back().text.empty()) row.pop_back();
    if (!row.empty()) out.push_back(std::move(row));
  }
  return out;
}

std::string folded(std::string_view title) {
  std::string out;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace tilescope::importers

// SPDX-License-Identifier: Apache-2.0
#include "arch/figure_sources.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "arch/detail/places.h"
#include "arch/layers.h"
#include "base/document.h"

namespace tilescope::arch {
namespace {

using base::Value;

// Keys whose entries name their sources themselves, and those that are names and no figures.
constexpr std::array<std::string_view, 10> kWithout = {"calibration", "error_bands", "baselines", "compiler", "name",
                                                       "vendor",      "title",       "board",     "target",   "class"};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Where the comment of a line begins: at a # after a blank, outside of quotes, which open at the start of a word.
std::size_t comment_at(std::string_view line) {
  char quote = 0, before = ' ';
  for (std::size_t i = 0; i < line.size(); before = line[i++]) {
    const char c = line[i];
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if ((c == '"' || c == '\'') && std::string_view(" \t[{,").find(before) != std::string_view::npos)
      quote = c;
    else if (c == '#' && (before == ' ' || before == '\t'))
      return i;
  }
  return line.size();
}

bool is_on_line(const Value& v, std::uint32_t line) {
  if (v.at.line != line) return false;
  if (const auto* list = v.get_if<base::List>())
    return std::all_of(list->begin(), list->end(), [&](const Value& item) { return is_on_line(item, line); });
  const auto* map = v.get_if<base::Map>();
  return map == nullptr ||
         std::all_of(map->begin(), map->end(), [&](const base::Entry& e) { return is_on_line(e.value, line); });
}

// Whether it is a number, an amount, a switch, or has one in it; names and kinds are none.
bool states_figure(const Value& v) {
  if (const auto* text = v.get_if<std::string>()) return !text->empty() && text->find_first_of("0123456789") == 0;
  if (const auto* list = v.get_if<base::List>()) return std::any_of(list->begin(), list->end(), states_figure);
  const auto* map = v.get_if<base::Map>();
  return map == nullptr ||
         std::any_of(map->begin(), map->end(), [](const base::Entry& e) { return states_figure(e.value); });
}

// The lines of the files that values refer to.
class Lines {
 public:
  explicit Lines(base::Diagnostics& diags) : diags_(diags) {}

  std::string_view at(base::Position p) {
    const auto [known, is_new] = files_.try_emplace(p.source);
    if (is_new) known->second = read(std::string(diags_.source_name(p.source)));  // names move when one is added
    return p.line == 0 || p.line > known->second.size() ? std::string_view() : known->second[p.line - 1];
  }

 private:
  std::vector<std::string> read(const std::string& file) {
    const base::SourceId source = diags_.add_source(file);
    const auto text = base::read_file(file, source, diags_);
    std::vector<std::string> out;
    for (std::string_view rest = text ? *text : std::string_view(); !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }

  base::Diagnostics& diags_;
  std::map<base::SourceId, std::vector<std::string>> files_;
};

class Reader {
 public:
  explicit Reader(base::Diagnostics& diags) : diags_(diags), lines_(diags) {}

  // `inherited`: the remark of the map around it, where that has one.
  void read(const Value& value, const Remark& inherited) {
    if (const auto* map = value.get_if<base::Map>()) {
      for (const base::Entry& e : *map)
        if (!path_.empty() || std::find(kWithout.begin(), kWithout.end(), e.key) == kWithout.end())
          if (e.key != "name") read_named(e.key, e.value, around(e.at, inherited));
    } else if (const auto* list = value.get_if<base::List>()) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string* name = name_in((*list)[i]);
        read_named(name == nullptr ? std::to_string(i) : *name, (*list)[i], inherited);
      }
    }
  }

  std::vector<FigureSource> take() { return std::move(found_); }

 private:
  void read_named(const std::string& key, const Value& value, const Remark& inherited) {
    path_.push_back(key);
    const bool is_whole = is_on_line(value, value.at.line);
    if (is_whole)
      add(value, inherited);
    else
      read(value, inherited);
    path_.pop_back();
  }

  // The remark beside a key whose map follows it, as in `fragments: # [S] CUTLASS`.
  Remark around(base::Position key, const Remark& inherited) {
    Remark own = remark_of(lines_.at(key));
    return own.mark.empty() ? inherited : own;
  }

  void add(const Value& value, const Remark& inherited) {
    const std::string_view line = lines_.at(value.at);
    Remark remark = remark_of(line);
    if (remark.mark.empty()) remark = inherited;
    if (remark.mark.empty() && !states_figure(value)) return;
    const std::size_t begin = std::min<std::size_t>(value.at.column == 0 ? 0 : value.at.column - 1, line.size());
    const std::string_view text = line.substr(begin, std::max(comment_at(line), begin) - begin);
    found_.push_back({path_, std::string(trimmed(text)), std::move(remark.mark), std::move(remark.text),
                      diags_.source_name(value.at.source), value.at.line});
  }

  base::Diagnostics& diags_;
  Lines lines_;
  std::vector<std::string> path_;
  std::vector<FigureSource> found_;
};

}  // namespace

Remark remark_of(std::string_view line) {
  std::string_view comment = line.substr(comment_at(line));
  if (comment.empty()) return {};
  comment = trimmed(comment.substr(1));
  const bool is_marked =
      comment.size() >= 3 && comment[0] == '[' && comment[2] == ']' && comment[1] >= 'A' && comment[1] <= 'Z';
  if (!is_marked) return {};
  return {std::string(1, comment[1]), std::string(trimmed(comment.substr(3)))};
}

std::vector<FigureSource> figure_sources(const std::string& name_or_path, base::Diagnostics& diags) {
  const auto layers = read_layers(device_file(name_or_path).value_or(name_or_path), diags);
  if (!layers) return {};
  Reader reader(diags);
  reader.read(layers->chip, {});
  return reader.take();
}

}  // namespace tilescope::arch

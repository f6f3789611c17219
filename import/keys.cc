// SPDX-License-Identifier: Apache-2.0
#include "import/keys.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::importers {
namespace {

using base::Position;
using base::Value;

std::string text_of(const Value& v) {
  if (v.is_null() || v.is_list() || v.is_map()) return {};
  const auto* text = v.get_if<std::string>();
  return text != nullptr ? *text : base::to_json(v);
}

void add_keys(const Value& v, const std::string& name, std::vector<Key>& out) {
  const auto* map = v.get_if<base::Map>();
  const auto* list = v.get_if<base::List>();
  if (map != nullptr && !map->empty()) {
    for (const base::Entry& e : *map) add_keys(e.value, name.empty() ? e.key : name + '.' + e.key, out);
  } else if (list != nullptr && !list->empty()) {
    for (std::size_t i = 0; i < list->size(); ++i) add_keys((*list)[i], fmt::format("{}[{}]", name, i), out);
  } else {
    out.push_back({name, text_of(v), v.at});
  }
}

// A piece of a value, with the place where it begins.
struct Piece {
  std::string text;
  Position at;
};

// The place of a character of a value that may span lines.
Position place_in(const Key& key, std::size_t offset) {
  Position at = key.at;
  for (std::size_t i = 0; i < offset; ++i) {
    ++at.column;
    if (key.text[i] == '\n') {
      ++at.line;
      at.column = 1;
    }
  }
  return at;
}

Piece piece_of(const Key& key, std::size_t begin, std::size_t end) {
  const auto is_blank = [&](std::size_t i) {
    return std::string_view(" \t\r\n").find(key.text[i]) != std::string::npos;
  };
  while (begin < end && is_blank(begin)) ++begin;
  while (end > begin && is_blank(end - 1)) --end;
  return {key.text.substr(begin, end - begin), place_in(key, begin)};
}

bool is_separator(char c) { return c == ':' || c == ','; }

// The pattern as names, each with the separator behind it; 0 behind the last.
std::vector<std::pair<std::string, char>> names_of(std::string_view pattern) {
  std::vector<std::pair<std::string, char>> out(1);
  for (const char c : pattern) {
    if (is_separator(c)) {
      out.back().second = c;
      out.emplace_back();
    } else {
      out.back().first += c;
    }
  }
  return out;
}

// Splits by the names' separators, or nothing where the value has others. Groups stand between commas: one may end
// before its pattern does, only the first has to be whole.
std::optional<std::vector<Key>> by_position(const Key& key, std::string_view pattern) {
  const auto names = names_of(pattern);
  std::vector<Key> out;
  std::size_t begin = 0, name = 0;
  bool first_group = true;
  const bool has_groups = pattern.find(',') != std::string_view::npos;
  for (std::size_t i = 0; i <= key.text.size(); ++i) {
    const char c = i < key.text.size() ? key.text[i] : '\0';
    if (c != '\0' && !is_separator(c)) continue;
    if (name == names.size()) return std::nullopt;
    Piece piece = piece_of(key, begin, i);
    out.push_back({key.name + '.' + names[name].first, std::move(piece.text), piece.at});
    begin = i + 1;
    if (c == '\0' && has_groups && first_group && names[name].second == ':') return std::nullopt;
    if (c == '\0') break;
    if (c == ',')  // the rest of the group is left out
      while (name < names.size() && names[name].second == ':') {
        if (first_group) return std::nullopt;
        ++name;
      }
    if (c == ',') first_group = false;
    if (name == names.size() || names[name].second != c) return std::nullopt;
    ++name;
  }
  return out;
}

std::optional<std::vector<Key>> by_name(const Key& key, char separator) {
  std::vector<Key> out;
  for (std::size_t begin = 0; begin <= key.text.size();) {
    const std::size_t end = std::min(key.text.find(separator, begin), key.text.size());
    const std::size_t equals = key.text.find('=', begin);
    if (equals >= end) return std::nullopt;
    Piece name = piece_of(key, begin, equals), value = piece_of(key, equals + 1, end);
    if (name.text.empty()) return std::nullopt;
    out.push_back({key.name + '.' + name.text, std::move(value.text), value.at});
    begin = end + 1;
  }
  return out;
}

std::optional<std::vector<Key>> parts_of(const Key& key, std::string_view pattern) {
  return pattern.starts_with('=') ? by_name(key, pattern[1]) : by_position(key, pattern);
}

std::string form_of(std::string_view pattern) {
  return pattern.starts_with('=') ? fmt::format("name=value{}name=value", pattern[1]) : std::string(pattern);
}

}  // namespace

std::vector<Key> keys_of(const Value& document) {
  std::vector<Key> out;
  add_keys(document, {}, out);
  return out;
}

const Key* find_key(const std::vector<Key>& keys, std::string_view name) {
  const auto found = std::find_if(keys.rbegin(), keys.rend(), [&](const Key& k) { return k.name == name; });
  return found == keys.rend() ? nullptr : &*found;
}

void split_parts(std::vector<Key>& keys, std::span<const PartsRow> rows, base::Diagnostics& diags) {
  std::vector<Key> out;
  for (Key& key : keys) {
    std::optional<std::vector<Key>> parts;
    std::vector<std::string> forms;
    for (const PartsRow& row : rows) {
      if (row.key != key.name || parts) continue;
      parts = parts_of(key, row.pattern);
      forms.push_back(form_of(row.pattern));
    }
    if (parts)
      out.insert(out.end(), std::make_move_iterator(parts->begin()), std::make_move_iterator(parts->end()));
    else if (!forms.empty() && key.text != "none")
      diags.error(key.at, fmt::format("{}: expected {}, got '{}'", key.name, fmt::join(forms, " or "), key.text));
    else
      out.push_back(std::move(key));
  }
  keys = std::move(out);
}

}  // namespace tilescope::importers

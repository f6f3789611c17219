// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilescope::base {
namespace {

void expected(const Value& v, std::string_view name, std::string_view wanted, Diagnostics& diags) {
  diags.error(v.at, fmt::format("{}: expected {}, got {}", name, wanted, v.describe()));
}

}  // namespace

std::string_view renamed_key(std::span<const RenamedKey> keys, std::string_view path) {
  for (const RenamedKey& key : keys)
    if (path.starts_with(key.within)) {
      const std::string_view rest = path.substr(key.within.size());
      if (rest == key.was || (key.was.starts_with('.') && rest.ends_with(key.was))) return key.now;
    }
  return {};
}

Fields::Fields(const Value& map, std::string what, Diagnostics& diags, Renames renames)
    : map_(map), what_(std::move(what)), diags_(diags), renames_(std::move(renames)) {
  const Map* entries = map.get_if<Map>();
  if (entries == nullptr) {
    diags_.error(map.at, fmt::format("{}: expected a map, got {}", what_, map.describe()));
    return;
  }
  known_.reserve(entries->size());  // most of them are asked for, and every line of a batch passes here
  // A handful of keys is compared faster than hashed.
  constexpr std::size_t kFew = 24;
  if (entries->size() <= kFew) {
    for (auto e = entries->begin(); e != entries->end(); ++e)
      if (std::any_of(entries->begin(), e, [&](const Entry& other) { return other.key == e->key; })) duplicate(*e);
    return;
  }
  std::unordered_set<std::string_view> seen;
  for (const Entry& e : *entries)
    if (!seen.insert(e.key).second) duplicate(e);
}

void Fields::duplicate(const Entry& e) { diags_.error(e.at, fmt::format("duplicate key '{}' in {}", e.key, what_)); }

std::string Fields::path_of(std::string_view key) const {
  return renames_.path.empty() ? std::string(key) : fmt::format("{}.{}", renames_.path, key);
}

bool Fields::has_under_old_name(std::string_view key) const {
  return std::any_of(map_.get_if<Map>()->begin(), map_.get_if<Map>()->end(),
                     [&](const Entry& e) { return renamed_key(renames_.keys, path_of(e.key)) == key; });
}

const Value* Fields::take(std::string_view key) {
  known_.push_back(key);
  return map_.find(key);
}

const Value* Fields::require(std::string_view key) {
  const Value* v = take(key);
  if (v == nullptr && map_.is_map() && !has_under_old_name(key))
    diags_.error(map_.at, fmt::format("{} lacks the key '{}'", what_, key));
  return v;
}

void Fields::finish() {
  const Map* entries = map_.get_if<Map>();
  if (entries == nullptr) return;
  for (const Entry& e : *entries) {
    if (std::find(known_.begin(), known_.end(), e.key) != known_.end()) continue;
    const std::string path = path_of(e.key);
    const std::string_view now = renamed_key(renames_.keys, path);
    if (!now.empty())
      diags_.error(e.at, fmt::format("{}: is now called {}", path, now));
    else
      diags_.error(e.at, fmt::format("unknown key '{}' in {}{}", e.key, what_, did_you_mean(e.key, known_)));
  }
}

std::optional<std::int64_t> as_integer(const Value* v, std::string_view name, IntegerRange range, Diagnostics& diags) {
  if (v == nullptr) return std::nullopt;
  const auto* n = v->get_if<std::int64_t>();
  if (n != nullptr && *n >= range.least && *n <= range.most) return *n;
  constexpr IntegerRange kAny;
  std::string wanted = "a whole number";
  if (range.least > kAny.least && range.most < kAny.most)
    wanted += fmt::format(" from {} to {}", range.least, range.most);
  else if (range.least > kAny.least)
    wanted += fmt::format(" of at least {}", range.least);
  else if (range.most < kAny.most)
    wanted += fmt::format(" of at most {}", range.most);
  if (n == nullptr && v->get_if<double>() != nullptr && std::abs(*v->get_if<double>()) > 9e18) wanted += " of 64 bits";
  expected(*v, name, wanted, diags);
  return std::nullopt;
}

std::optional<double> as_number(const Value* v, std::string_view name, Diagnostics& diags) {
  if (v == nullptr) return std::nullopt;
  if (const auto* n = v->get_if<std::int64_t>()) return static_cast<double>(*n);
  if (const auto* x = v->get_if<double>(); x != nullptr && std::isfinite(*x)) return *x;
  expected(*v, name, "a number", diags);
  return std::nullopt;
}

std::optional<bool> as_bool(const Value* v, std::string_view name, Diagnostics& diags) {
  if (v == nullptr) return std::nullopt;
  if (const auto* b = v->get_if<bool>()) return *b;
  expected(*v, name, "true or false", diags);
  return std::nullopt;
}

std::optional<std::string> as_text(const Value* v, std::string_view name, Diagnostics& diags) {
  if (v == nullptr) return std::nullopt;
  if (const auto* s = v->get_if<std::string>()) return *s;
  expected(*v, name, "a text", diags);
  return std::nullopt;
}

const List* as_list(const Value* v, std::string_view name, Diagnostics& diags) {
  if (v == nullptr) return nullptr;
  const List* list = v->get_if<List>();
  if (list == nullptr) expected(*v, name, "a list", diags);
  return list;
}

const Map* as_map(const Value* v, std::string_view name, Diagnostics& diags) {
  if (v == nullptr) return nullptr;
  const Map* map = v->get_if<Map>();
  if (map == nullptr) expected(*v, name, "a map", diags);
  return map;
}

std::optional<std::size_t> as_choice(const Value* v, std::string_view name,
                                     const std::vector<std::string_view>& choices, Diagnostics& diags) {
  const std::optional<std::string> text = as_text(v, name, diags);
  if (!text) return std::nullopt;
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  diags.error(v->at, fmt::format("{}: expected one of {}, got '{}'{}", name, fmt::join(choices, ", "), *text,
                                 did_you_mean(*text, choices)));
  return std::nullopt;
}

}  // namespace tilescope::base

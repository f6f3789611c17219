// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short forms of the readers for tests: a text goes in, its value and its messages come out.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::base {

struct Reading {
  std::optional<Value> value;
  std::vector<std::string> errors;
};

// What `read(source, diags)` returns and reports about an input of the name "in".
template <class Read>
Reading reading_of(Read read) {
  Diagnostics diags;
  const SourceId source = diags.add_source("in");
  Reading out;
  out.value = read(source, diags);
  out.errors = diags.formatted_errors();
  return out;
}

inline Reading yaml(std::string_view text, DocumentLimits limits = {}) {
  return reading_of([&](SourceId source, Diagnostics& diags) { return read_yaml(text, source, diags, limits); });
}

inline Reading json(std::string_view text, DocumentLimits limits = {}) {
  return reading_of([&](SourceId source, Diagnostics& diags) { return read_json(text, source, diags, limits); });
}

// The value of a text that is accepted; a test where it is not fails with the messages.
inline Value value_of(Reading r) {
  if (r.value) return *std::move(r.value);
  std::string all = "refused:";
  for (const std::string& error : r.errors) all += "\n" + error;
  throw std::runtime_error(all);
}

// The only error of a refused text, or what happened instead.
inline std::string error_of(const Reading& r) {
  if (r.value) return "accepted as " + to_json(*r.value);
  return r.errors.size() == 1 ? r.errors.front() : std::to_string(r.errors.size()) + " errors";
}

enum class PlacesCount : bool { kNo, kYes };

template <class T>
bool same_leaf(const Value& a, const Value& b) {
  const T* x = a.get_if<T>();
  const T* y = b.get_if<T>();
  if (x == nullptr || y == nullptr) return false;
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  else
    return *x == *y;
}

// Whether two trees are equal: kinds, values, keys and their order, doubles to the last bit, and places if they count.
inline bool same(const Value& a, const Value& b, PlacesCount places) {
  if (places == PlacesCount::kYes && !(a.at == b.at)) return false;
  if (const List* list = a.get_if<List>()) {
    const List* other = b.get_if<List>();
    return other != nullptr && std::equal(list->begin(), list->end(), other->begin(), other->end(),
                                          [&](const Value& x, const Value& y) { return same(x, y, places); });
  }
  if (const Map* map = a.get_if<Map>()) {
    const Map* other = b.get_if<Map>();
    return other != nullptr &&
           std::equal(map->begin(), map->end(), other->begin(), other->end(), [&](const Entry& x, const Entry& y) {
             return x.key == y.key && (places == PlacesCount::kNo || x.at == y.at) && same(x.value, y.value, places);
           });
  }
  return (a.is_null() && b.is_null()) || same_leaf<bool>(a, b) || same_leaf<std::int64_t>(a, b) ||
         same_leaf<double>(a, b) || same_leaf<std::string>(a, b);
}

// Every key and value with its place, one a line, for comparing whole documents: "1:4 key a", "1:7 the number 1".
inline void list_places(const Value& v, std::vector<std::string>& out) {
  const auto place = [](Position at) { return std::to_string(at.line) + ":" + std::to_string(at.column) + " "; };
  out.push_back(place(v.at) + v.describe());
  if (const List* list = v.get_if<List>())
    for (const Value& item : *list) list_places(item, out);
  if (const Map* map = v.get_if<Map>())
    for (const Entry& e : *map) {
      out.push_back(place(e.at) + "key " + e.key);
      list_places(e.value, out);
    }
}

inline std::vector<std::string> places_of(const Reading& r) {
  std::vector<std::string> out = r.errors;
  if (r.value) list_places(*r.value, out);
  return out;
}

}  // namespace tilescope::base

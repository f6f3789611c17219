// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/merge.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "arch/detail/places.h"

namespace tilescope::arch {
namespace {

using base::Entry;
using base::List;
using base::Map;
using base::Value;

bool all_named(const List& list) {
  return !list.empty() &&
         std::all_of(list.begin(), list.end(), [](const Value& item) { return name_in(item) != nullptr; });
}

void merge_maps(Map& under, const Map& over) {
  for (auto e = over.begin(); e != over.end(); ++e) {
    const auto same_key = [&](const Entry& other) { return other.key == e->key; };
    const bool again = std::any_of(over.begin(), e, same_key);
    const auto found = std::find_if(under.begin(), under.end(), same_key);
    if (again || found == under.end()) {
      under.push_back(*e);
    } else {
      found->at = e->at;
      merge(found->value, e->value);
    }
  }
}

void merge_named(List& under, const List& over) {
  for (const Value& item : over) {
    const auto same_name = [&](const Value& other) { return *name_in(other) == *name_in(item); };
    const auto found = std::find_if(under.begin(), under.end(), same_name);
    if (found == under.end())
      under.push_back(item);
    else
      merge(*found, item);
  }
}

void report_repeats_in(const List& list, base::Diagnostics& diags) {
  for (auto item = list.begin(); item != list.end(); ++item) {
    const std::string* name = name_in(*item);
    if (name == nullptr) continue;
    const auto same_name = [&](const Value& other) { return name_in(other) != nullptr && *name_in(other) == *name; };
    if (std::any_of(list.begin(), item, same_name))
      diags.error(item->find("name")->at, fmt::format("two items of one list bear the name '{}'", *name));
  }
}

}  // namespace

void merge(Value& under, const Value& over) {
  Map* under_map = under.get_if<Map>();
  const Map* over_map = over.get_if<Map>();
  if (under_map != nullptr && over_map != nullptr) return merge_maps(*under_map, *over_map);
  List* under_list = under.get_if<List>();
  const List* over_list = over.get_if<List>();
  if (under_list != nullptr && over_list != nullptr && all_named(*under_list) && all_named(*over_list))
    return merge_named(*under_list, *over_list);
  under = over;
}

void report_repeated_names(const Value& document, base::Diagnostics& diags) {
  if (const List* list = document.get_if<List>()) {
    report_repeats_in(*list, diags);
    for (const Value& item : *list) report_repeated_names(item, diags);
  }
  if (const Map* map = document.get_if<Map>())
    for (const Entry& e : *map) report_repeated_names(e.value, diags);
}

}  // namespace tilescope::arch

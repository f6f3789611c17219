// SPDX-License-Identifier: Apache-2.0
#include "arch/bands.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "arch/detail/places.h"
#include "base/quantity.h"

namespace tilescope::arch {
namespace {

using base::Value;

// Of a chip: its names, and what has a rule of its own (arch/layers.cc) or is of no time.
constexpr std::array<std::string_view, 11> kOfNoTime = {
    "name", "title", "vendor", "board", "extends", "calibration", "baselines", "error_bands", "die", "power", "energy"};
// Of any part: who says so.
constexpr std::array<std::string_view, 2> kSources = {"source", "residual"};

template <std::size_t N>
bool is_one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<base::Quantity> quantity_of(const Value& v) {
  const auto* text = v.get_if<std::string>();
  return text == nullptr ? std::nullopt : base::parse_quantity(*text);
}

bool same_scalar(const Value& a, const Value& b) {
  const auto x = quantity_of(a), y = quantity_of(b);
  if (x && y) return x->value == y->value && x->dimension == y->dimension;
  return base::to_json(a) == base::to_json(b);
}

bool changes(const Value& under, const Value& over);

bool changes_in_map(const base::Map& over, const Value& under) {
  return std::any_of(over.begin(), over.end(), [&](const base::Entry& e) {
    if (is_one_of(e.key, kSources)) return false;
    const Value* below = under.find(e.key);
    return below == nullptr || changes(*below, e.value);
  });
}

// Items with names are laid over those of their names (arch/detail/merge.h); other lists take each other's place.
bool changes_in_list(const base::List& over, const base::List& under) {
  return std::any_of(over.begin(), over.end(), [&](const Value& item) {
    const std::string* name = name_in(item);
    const Value* below = name == nullptr ? nullptr : find_named(under, *name);
    return below == nullptr || changes(*below, item);
  });
}

bool changes(const Value& under, const Value& over) {
  if (const auto* map = over.get_if<base::Map>()) return !under.is_map() || changes_in_map(*map, under);
  const auto* list = over.get_if<base::List>();
  if (list == nullptr) return !same_scalar(under, over);
  const auto* below = under.get_if<base::List>();
  const bool named = std::any_of(list->begin(), list->end(), [](const Value& v) { return name_in(v) != nullptr; });
  if (below == nullptr || !named) return base::to_json(under) != base::to_json(over);
  return changes_in_list(*list, *below);
}

}  // namespace

std::pair<std::string_view, std::optional<base::Dtype>> kind_of_band(std::string_view name) {
  const std::size_t blank = name.rfind(' ');
  const auto dtype = blank == std::string_view::npos ? std::nullopt : base::dtype_of(name.substr(blank + 1));
  return {dtype ? name.substr(0, blank) : name, dtype};
}

bool changes_causes(const Value& under, const Value& over) {
  const auto* map = over.get_if<base::Map>();
  if (map == nullptr) return false;  // no chip, which its reader says
  return std::any_of(map->begin(), map->end(), [&](const base::Entry& e) {
    if (is_one_of(e.key, kOfNoTime) || is_one_of(e.key, kSources)) return false;
    const Value* below = under.find(e.key);
    return below == nullptr || changes(*below, e.value);
  });
}

}  // namespace tilescope::arch

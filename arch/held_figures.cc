// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/held_figures.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "arch/detail/places.h"
#include "arch/hierarchy.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

using base::Value;

constexpr std::array<std::string_view, 3> kGeometry = {"capacity", "banks", "bank_width"};

// The map at the path, whose last key is inserted where it is missing; null where the rest of the path is no map.
base::Map* map_at(Value& document, const Path& path) {
  Value* at = &document;
  for (const std::string_view key : path) {
    auto* map = at->get_if<base::Map>();
    if (map == nullptr) return nullptr;
    auto found = std::find_if(map->begin(), map->end(), [&](const base::Entry& e) { return e.key == key; });
    if (found == map->end()) {
      if (key != path.back()) return nullptr;
      map->push_back({std::string(key), Value(base::Map{}), at->at});
      map->back().value.at = at->at;
      found = map->end() - 1;
    }
    at = &found->value;
  }
  return at->get_if<base::Map>();
}

bool has_key(const base::Map& map, std::string_view key) {
  return std::any_of(map.begin(), map.end(), [&](const base::Entry& e) { return e.key == key; });
}

// Gives the map of figures the condition that `over` states with them, or none.
void take_anew(base::Map* figures, std::string_view key, const Value* stated) {
  if (figures == nullptr) return;
  std::erase_if(*figures, [&](const base::Entry& e) { return e.key == key; });
  if (stated != nullptr) figures->push_back({std::string(key), *stated, stated->at});
}

// Gives the map the condition that held before, unless it has one.
void keep(base::Map* conditions, std::string_view key, const Value& was) {
  if (conditions != nullptr && !has_key(*conditions, key)) conditions->push_back({std::string(key), was, was.at});
}

void keep_level(const Value& before, const Value& over, const std::string& level, Value& chip) {
  const Path figures = {"energy", "levels", level};
  if (find_at(over, {"energy", "levels", level, "byte"}) != nullptr) {
    take_anew(map_at(chip, figures), "holds_for", find_at(over, {"energy", "levels", level, "holds_for"}));
    return;
  }
  for (const std::string_view key : kGeometry) {
    const Path path = {"memory", level, key};
    const Value* was = find_at(before, path);
    if (was != nullptr && find_at(over, path) != nullptr)
      keep(map_at(chip, {"energy", "levels", level, "holds_for"}), key, *was);
  }
}

// No figure of a DRAM follows its geometry.
bool is_dram(const Value& chip, const std::string& level) {
  const Value* kind = find_at(chip, {"memory", level, "kind"});
  const auto* text = kind == nullptr ? nullptr : kind->get_if<std::string>();
  return text != nullptr && *text == name_of_choice(Kind::kDram);
}

void keep_levels(const Value& before, const Value& over, Value& chip) {
  const Value* levels = find_at(before, {"energy", "levels"});
  const auto* figures = levels == nullptr ? nullptr : levels->get_if<base::Map>();
  if (figures == nullptr) return;
  for (const base::Entry& e : *figures)
    if (!is_dram(before, e.key)) keep_level(before, over, e.key, chip);
}

void keep_node(const Value& before, const Value& over, std::string_view section, Value& chip) {
  const Value* figures = before.find(section);
  if (figures == nullptr || !figures->is_map()) return;
  if (find_at(over, {section, "source"}) != nullptr) {
    for (const std::string_view key : {"node", "residual"})
      take_anew(map_at(chip, {section}), key, find_at(over, {section, key}));
    return;
  }
  const Value* was = find_at(before, {"die", "node"});
  if (was != nullptr && find_at(over, {"die", "node"}) != nullptr) keep(map_at(chip, {section}), "node", *was);
}

// What a member held for, where that is no longer so.
template <class T>
void settle(std::optional<T>& held, const std::optional<T>& now) {
  if (held == now) held.reset();
}

}  // namespace

void keep_held_figures(const Value& before, const Value& over, Value& chip) {
  keep_levels(before, over, chip);
  for (const std::string_view section : {"power", "energy"}) keep_node(before, over, section, chip);
}

void settle_held_figures(ArchSpec& a) {
  const auto node = a.die ? std::optional(a.die->node) : std::nullopt;
  if (a.power) settle(a.power->node, node);
  if (!a.energy) return;
  settle(a.energy->node, node);
  for (auto& [name, energy] : a.energy->levels) {
    const Level* level = level_named(a, name);
    if (!energy.holds_for || level == nullptr) continue;
    HeldLevel& held = *energy.holds_for;
    settle(held.capacity, std::optional(spec_of(*level).capacity));
    if (const auto* scratchpad = std::get_if<ScratchpadLevel>(level)) {
      settle(held.banks, std::optional(scratchpad->banks));
      settle(held.bank_width, std::optional(scratchpad->bank_width));
    }
    if (held == HeldLevel{}) energy.holds_for.reset();
  }
}

}  // namespace tilescope::arch

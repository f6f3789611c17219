// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/new_levels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/fields.h"

namespace tilescope::arch {
namespace {

using base::Diagnostics;
using base::Entry;
using base::Map;
using base::Position;
using base::Value;

constexpr std::array<std::string_view, 2> kNeighbours = {"after", "before"};

Map* levels_of(Value& chip) {
  Value* memory = chip.find("memory");
  return memory == nullptr ? nullptr : memory->get_if<Map>();
}

// What a level says of its place.
struct LevelPosition {
  bool after = false;
  std::string neighbour;
  Position at;
};

// Takes `after` and `before` out of a level; nothing where it has neither, or where what it says is refused.
std::optional<LevelPosition> take_position(Entry& level, Diagnostics& diags) {
  Map* keys = level.value.get_if<Map>();
  if (keys == nullptr) return std::nullopt;
  std::optional<LevelPosition> position;
  bool refused = false;
  for (const Entry& e : *keys) {
    if (std::find(kNeighbours.begin(), kNeighbours.end(), e.key) == kNeighbours.end()) continue;
    const auto name = base::as_text(&e.value, fmt::format("memory.{}.{}", level.key, e.key), diags);
    refused = refused || !name || position;
    if (position)
      diags.error(e.at, fmt::format("memory.{}.{}: the level says already that it stands {} {}; one of both is enough",
                                    level.key, e.key, position->after ? "after" : "before", position->neighbour));
    if (name && !position) position = LevelPosition{e.key == "after", *name, e.value.at};
  }
  std::erase_if(*keys, [](const Entry& e) {
    return std::find(kNeighbours.begin(), kNeighbours.end(), e.key) != kNeighbours.end();
  });
  return refused ? std::nullopt : position;
}

Map::iterator find(Map& levels, std::string_view name) {
  return std::find_if(levels.begin(), levels.end(), [&](const Entry& e) { return e.key == name; });
}

void refuse(const Entry& level, const LevelPosition& position, const std::string& why, Diagnostics& diags) {
  diags.error(position.at, fmt::format("memory.{}.{}: {}", level.key, position.after ? "after" : "before", why));
}

// A level that waits for its neighbour.
struct Pending {
  Entry level;
  LevelPosition position;
};

// Puts the level beside its neighbour; false where that is not there yet.
bool insert(Map& levels, Pending& p) {
  auto at = find(levels, p.position.neighbour);
  if (at == levels.end()) return false;
  if (p.position.after) ++at;
  levels.insert(at, std::move(p.level));
  return true;
}

}  // namespace

void insert_new_levels(Value& under, Value& over, Diagnostics& diags) {
  Map *levels = levels_of(under), *more = levels_of(over);
  if (levels == nullptr || more == nullptr) return;
  std::vector<Pending> pending;
  std::vector<std::string> names;
  for (const Entry& e : *levels) names.push_back(e.key);
  for (const Entry& e : *more)
    if (find(*levels, e.key) == levels->end()) names.push_back(e.key);
  for (Entry& e : *more) {
    const auto position = take_position(e, diags);
    const auto twice = std::count_if(more->begin(), more->end(), [&](const Entry& o) { return o.key == e.key; }) > 1;
    if (!position || twice) continue;  // readers report what is there twice
    if (find(*levels, e.key) != levels->end())
      refuse(e, *position,
             fmt::format("'{}' is a level of the file that this one extends and stays in its place", e.key), diags);
    else
      pending.push_back({e, *position});
  }
  for (const Pending& p : pending) more->erase(find(*more, p.level.key));
  for (bool any = true; std::exchange(any, false);)
    for (auto p = pending.begin(); p != pending.end();) {
      const bool done = insert(*levels, *p);
      any = any || done;
      p = done ? pending.erase(p) : p + 1;
    }
  for (Pending& p : pending) {
    std::vector<std::string_view> others;
    for (const std::string& n : names)
      if (n != p.level.key) others.push_back(n);
    const bool known = std::find(others.begin(), others.end(), p.position.neighbour) != others.end();
    refuse(p.level, p.position,
           known ? fmt::format("'{}' is a new level whose own place waits for this one", p.position.neighbour)
                 : fmt::format("no other level is named '{}'{}", p.position.neighbour,
                               base::did_you_mean(p.position.neighbour, others)),
           diags);
    levels->push_back(std::move(p.level));
  }
}

void refuse_neighbours(Value& chip, Diagnostics& diags) {
  Map* levels = levels_of(chip);
  if (levels == nullptr) return;
  for (Entry& e : *levels)
    if (const auto position = take_position(e, diags))
      refuse(e, *position, "a key of a file that extends another; the levels of this one stand as they are written",
             diags);
}

}  // namespace tilescope::arch

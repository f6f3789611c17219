// SPDX-License-Identifier: Apache-2.0
// What a chip's levels must be together: every one of them on the way from a thread to DRAM, in its place.

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arch/detail/checks.h"
#include "arch/detail/complaints.h"
#include "arch/hierarchy.h"
#include "arch/key.h"

namespace tilescope::arch {
namespace {

// What tables and documents call a cause of time beside the levels.
constexpr std::array<std::string_view, 8> kOtherCauses = {"issue",    "arithmetic", "latency", "launch",
                                                          "dispatch", "barrier",    "tail",    "total"};

void check_names(const ArchSpec& a, Complaints& complaints) {
  for (const Level& l : a.memory) {
    const std::string& name = spec_of(l).name;
    if (std::find(kOtherCauses.begin(), kOtherCauses.end(), name) != kOtherCauses.end())
      complaints.add({"memory", name}, fmt::format("'{}' is another part of a time in tables; a level needs another "
                                                   "name",
                                                   name));
  }
}

void check_order(const ArchSpec& a, Complaints& complaints) {
  for (std::size_t i = 1; i < a.memory.size(); ++i) {
    const LevelSpec &outer = spec_of(a.memory[i - 1]), &l = spec_of(a.memory[i]);
    if (l.scope < outer.scope)
      complaints.add({"memory", l.name, "scope"},
                     fmt::format("{} scope inside of {}, which has {} scope; levels stand outermost first",
                                 name_of_choice(l.scope), outer.name, name_of_choice(outer.scope)),
                     {{"memory", outer.name, "scope"}, {"memory", l.name}, {"memory", outer.name}});
    if (kind_of(a.memory[i]) == Kind::kDram)
      complaints.add({"memory", l.name, "kind"}, "a chip has one dram, and it stands outermost");
  }
}

// Every level has a role of its own, but for those that are described only; caches of device scope follow each other.
void check_roles(const ArchSpec& a, Complaints& complaints) {
  std::vector<std::pair<Role, const Level*>> taken;
  for (const Level& level : a.memory) {
    const LevelSpec& l = spec_of(level);
    const Standing standing = standing_of(level, a.chip_class);
    if (!standing.role) {
      if (!standing.described) complaints.add({"memory", l.name, "kind"}, standing.why, {{"memory", l.name, "scope"}});
      continue;
    }
    const auto first = std::find_if(taken.begin(), taken.end(), [&](const auto& t) {
      return t.first == *standing.role && spec_of(*t.second).scope == l.scope;
    });
    const bool many = *standing.role == Role::kDeviceCache || *standing.role == Role::kDram;  // said by check_order
    if (first != taken.end() && !many)
      complaints.add({"memory", l.name, "kind"},
                     fmt::format("a second {}, beside {}; readers of class {} know one", in_words(level),
                                 spec_of(*first->second).name, name_of_choice(a.chip_class)),
                     {{"memory", l.name, "scope"}, {"memory", spec_of(*first->second).name}});
    taken.emplace_back(*standing.role, &level);
  }
}

void check_device_caches(const ArchSpec& a, Complaints& complaints) {
  std::vector<const CacheLevel*> caches;  // outermost first
  for (const Level& level : a.memory)
    if (const auto* cache = std::get_if<CacheLevel>(&level); cache != nullptr && cache->scope == Scope::kDevice)
      caches.push_back(cache);
  if (caches.size() > kMaxDeviceCaches) {
    std::vector<Path> all;
    for (const CacheLevel* cache : caches) all.push_back({"memory", cache->name});
    complaints.add(
        all[kMaxDeviceCaches],
        fmt::format("the {}th cache of device scope; {} are the most", kMaxDeviceCaches + 1, kMaxDeviceCaches), all);
  }
  for (std::size_t i = 0; i + 1 < caches.size(); ++i) {
    const CacheLevel &outer = *caches[i], &inner = *caches[i + 1];
    if (outer.l2_partitions > 1)
      complaints.add(
          {"memory", outer.name, "l2_partitions"},
          fmt::format("only the cache that cores reach first has partitions, and {} stands before it", inner.name),
          {{"memory", inner.name}});
    for (const auto& [key, bound] : {std::pair{"mshrs", outer.mshrs}, {"queue", outer.queue}})
      if (bound)
        complaints.add(
            {"memory", outer.name, key},
            fmt::format("readers bound the cache that cores reach first alone, and {} stands before this one",
                        inner.name),
            {{"memory", inner.name}});
    for (const auto& [key, mine, other] :
         {std::tuple{"line", outer.line, inner.line}, {"sector", outer.sector, inner.sector}})
      if (!divides(mine, other) && !divides(other, mine))
        complaints.add({"memory", outer.name, key},
                       fmt::format("{} B neither divide the {} of {}, {} B, nor are divided by it", mine.n, key,
                                   inner.name, other.n),
                       {{"memory", inner.name, key}, {"memory", inner.name}});
  }
}

// A cache shares its memory with the scratchpad of its core, or with nothing.
void check_shares(const ArchSpec& a, Complaints& complaints) {
  for (const Level& level : a.memory) {
    const auto* cache = std::get_if<CacheLevel>(&level);
    if (cache == nullptr || !cache->shares) continue;
    const Level* other = level_named(a, *cache->shares);
    if (other == nullptr || other == &level) continue;  // said already
    const bool both_of_a_core = cache->scope == Scope::kCore && spec_of(*other).scope == Scope::kCore;
    if (both_of_a_core && kind_of(*other) == Kind::kScratchpad) continue;
    complaints.add({"memory", cache->name, "shares"},
                   fmt::format("a {} shares its memory with a {}; readers know a core's cache that shares the memory "
                               "of its scratchpad",
                               in_words(level), in_words(*other)));
  }
}

void require_roles(const ArchSpec& a, Complaints& complaints) {
  std::vector<std::pair<Role, Kind>> needed;
  if (a.chip_class != ChipClass::kBsp) needed.emplace_back(Role::kDram, Kind::kDram);
  if (a.chip_class != ChipClass::kMemory) needed.emplace_back(Role::kScratchpad, Kind::kScratchpad);
  if (a.chip_class == ChipClass::kGpu) needed.emplace_back(Role::kRegisters, Kind::kRegister);
  for (const auto& [role, kind] : needed) {
    const bool found = std::any_of(a.memory.begin(), a.memory.end(), [&](const Level& l) {
      return kind_of(l) == kind && standing_of(l, a.chip_class).role.value_or(role) == role &&
             !standing_of(l, a.chip_class).described;
    });
    if (!found)
      complaints.add({"memory"}, fmt::format("a chip of class {} needs a level of kind {}",
                                             name_of_choice(a.chip_class), name_of_choice(kind)));
  }
}

}  // namespace

void check_hierarchy(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags) {
  Complaints complaints(layers, diags);
  check_names(a, complaints);
  check_order(a, complaints);
  check_roles(a, complaints);
  check_device_caches(a, complaints);
  check_shares(a, complaints);
  require_roles(a, complaints);
}

}  // namespace tilescope::arch

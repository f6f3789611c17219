// SPDX-License-Identifier: Apache-2.0
#include "arch/die.h"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "arch/detail/complaints.h"
#include "arch/detail/die.h"
#include "arch/detail/places.h"
#include "arch/hierarchy.h"

namespace tilescope::arch {
namespace {

void add_places(const base::Value& value, const std::string& prefix, DiePlaces& to) {
  const auto* map = value.get_if<base::Map>();
  if (map == nullptr) return;
  for (const base::Entry& e : *map) {
    to.keys.try_emplace(prefix + e.key, e.value.at);
    add_places(e.value, prefix + e.key + '.', to);
  }
}

// The built number after what is enabled changed from `was` to `now`.
std::int64_t with_spares(std::int64_t built, std::int64_t was, std::int64_t now) {
  const double share = static_cast<double>(built) / static_cast<double>(was);
  return std::llround(share * static_cast<double>(now));
}

std::int64_t capacity_of(const ArchSpec& a, std::string_view level) {
  const Level* found = level_named(a, level);
  return found == nullptr ? 0 : spec_of(*found).capacity.n;
}

// Bytes of all channels' data pins.
std::int64_t dram_width(const ArchSpec& a) {
  const DramLevel* dram = dram_of(a);
  return dram == nullptr ? 0 : dram->channels * dram->width.n;
}

// Scales `built`, unless an override states it, as what is enabled was scaled.
void keep_spares(std::int64_t stated_built, std::int64_t was, std::int64_t now, std::int64_t& built) {
  if (built == stated_built && was > 0 && now > 0 && was != now) built = with_spares(built, was, now);
}

void keep_spares(const ArchSpec& stated, ArchSpec& a) {
  const DieSpec& of = *stated.die;
  DieSpec& die = *a.die;
  if (of.cores && die.cores) keep_spares(*of.cores, stated.core.count, a.core.count, *die.cores);
  for (auto& [level, built] : die.caches)
    if (const auto was = of.caches.find(level); was != of.caches.end())
      keep_spares(was->second.capacity.n, capacity_of(stated, level), capacity_of(a, level), built.capacity.n);
  if (of.memory && of.memory->built && die.memory && die.memory->built)
    keep_spares(*of.memory->built, dram_width(stated), dram_width(a), *die.memory->built);
}

// The die without its published figures.
DieSpec parts_of(DieSpec die) {
  die.area.reset();
  die.million_transistors.reset();
  return die;
}

bool has_other_parts(const ArchSpec& stated, const ArchSpec& a) {
  return stated.core != a.core || stated.compute != a.compute || stated.memory != a.memory || stated.link != a.link ||
         parts_of(*stated.die) != parts_of(*a.die);
}

bool is_device_cache(const Level& level) {
  return kind_of(level) == Kind::kCache && spec_of(level).scope == Scope::kDevice;
}

void check_cache(const ArchSpec& a, const std::string& name, const BuiltCache& built, Complaints& complaints) {
  const Level* level = level_named(a, name);
  if (level == nullptr || !is_device_cache(*level)) {
    std::vector<std::string_view> caches;
    for (const Level& l : a.memory)
      if (is_device_cache(l)) caches.push_back(spec_of(l).name);
    complaints.add({"die", "caches", name}, "no cache of device scope" + base::did_you_mean(name, caches));
    return;
  }
  const Bytes enabled = spec_of(*level).capacity;
  if (built.capacity.n > 0 && built.capacity.n < enabled.n)
    complaints.add({"die", "caches", name, "capacity"},
                   fmt::format("{} B are built, fewer than the {} B of the level", built.capacity.n, enabled.n),
                   {{"memory", name, "capacity"}});
}

}  // namespace

void settle_die(const Layers& layers, const std::optional<ArchSpec>& stated, ArchSpec& a) {
  if (!a.die) return;
  if (const base::Value* value = layers.chip.find("die")) {
    a.die->places.die = value->at;
    add_places(*value, {}, a.die->places);
  }
  if (!stated || !stated->die) return;
  a.die->changed = has_other_parts(*stated, a);
  keep_spares(*stated, a);
}

void check_die(const Layers& layers, const ArchSpec& a, base::Diagnostics& diags) {
  if (!a.die) return;
  Complaints complaints(layers, diags);
  if (a.die->cores && *a.die->cores < a.core.count)
    complaints.add({"die", "cores"},
                   fmt::format("{} cores are built, fewer than the chip's {}", *a.die->cores, a.core.count),
                   {{"core", "count"}});
  for (const auto& [name, built] : a.die->caches) check_cache(a, name, built, complaints);
  if (a.die->memory && dram_of(a) == nullptr)
    complaints.add({"die", "memory"}, "the chip has no DRAM that these interfaces would connect");
}

}  // namespace tilescope::arch

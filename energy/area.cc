// SPDX-License-Identifier: Apache-2.0
#include "energy/area.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "arch/hierarchy.h"
#include "energy/arrays.h"
#include "energy/detail/parts.h"

namespace tilescope::energy {

const Figure* Parts::need(Table table, std::string_view name, std::string_view key) {
  const Figure* figure = technology.find(table, name);
  if (figure == nullptr) refuse(key, technology.why_unknown(table, name));
  return figure;
}

void Parts::refuse(std::string_view key, const std::string& text) {
  const std::string path = key.empty() ? "die" : fmt::format("die.{}", key);
  diags.error(die.places.of(key), fmt::format("{}: {}", path, text));
}

void Parts::add(std::string_view group, std::string part, double mm2, std::string rule,
                std::initializer_list<const Figure*> figures) {
  std::string source;
  for (const Figure* f : figures) {
    const std::string cited = f->cited();
    if (source.find(cited) == std::string::npos) source += (source.empty() ? "" : "; ") + cited;
  }
  all.push_back({std::string(group), std::move(part), mm2, 0, std::move(rule), std::move(source)});
}

void Parts::add_logic(std::string_view group, std::string part, double million, const std::string& rule,
                      std::initializer_list<const Figure*> figures) {
  add(group, std::move(part), million / density->value, fmt::format("{} / {:g} M a mm2", rule, density->value),
      figures);
  all.back().source += "; " + density->cited();
}

namespace {

// A core's connection to the caches of the device. A chip whose file states no link has ports as wide as those that the
// transistors were counted of.
void add_interconnect(Parts& to) {
  const auto& link = to.chip.link;
  if (link && link->kind != arch::LinkKind::kCrossbar) {
    to.refuse("", "link: cores are linked with each other, and no rule gives the area of that");
    return;
  }
  const Figure& port = to.technology.at(Table::kCore, "port");
  const Figure& bytes = to.technology.at(Table::kCore, "port_bytes");
  const double width = link ? static_cast<double>(link->width.n) : bytes.value;
  to.add_logic(kInterconnect, "ports of the cores", static_cast<double>(to.cores) * port.value * width / bytes.value,
               fmt::format("{} cores x {:g} M x {:g} B{} / {:g} B", to.cores, port.value, width,
                           link ? "" : " (the chip states no link)", bytes.value),
               {&port, &bytes});
}

void add_device_caches(Parts& to) {
  constexpr double kMib = 0x1p20, kUm2 = 1e6;
  for (const arch::CacheLevel* level : arch::hierarchy_of(to.chip).device_caches) {
    const auto found = to.die.caches.find(level->name);
    const base::Bytes built = found == to.die.caches.end() ? level->capacity : found->second.capacity;
    const double bits = bits_of_array(to.technology, built);
    to.add(kCaches, level->name, bits * to.cell->value,
           fmt::format("{:g} MiB built x {:g} um2 a bit / {:.3f}", static_cast<double>(built.n) / kMib,
                       to.cell->value * kUm2, 8 * static_cast<double>(built.n) / bits),
           {to.cell, &to.technology.rows(Table::kArrayEfficiency).back()});
  }
}

void add_memory(Parts& to) {
  const arch::DramLevel* dram = arch::dram_of(to.chip);
  if (dram == nullptr) return;
  if (!to.die.memory) {
    to.refuse("memory", fmt::format("is missing: the chip has a DRAM, {}; state the interface to it", dram->name));
    return;
  }
  const std::string& name = to.die.memory->interface;
  const Figure* bits = to.need(Table::kInterfaceBits, name, "memory.interface");
  const Figure* phy = bits == nullptr ? nullptr : to.need(Table::kMemoryPhy, name, "memory.interface");
  const Figure* controller = phy == nullptr ? nullptr : to.need(Table::kMemoryController, name, "memory.interface");
  if (controller == nullptr) return;
  const auto bits_of_channels = static_cast<double>(dram->channels * dram->width.n * 8);
  const auto needed = static_cast<std::int64_t>(std::ceil(bits_of_channels / bits->value));
  const std::int64_t built = to.die.memory->built.value_or(needed);
  if (built < needed) {
    to.refuse("memory.built",
              fmt::format("{} of {} are built, and the channels of {} need {}", built, name, dram->name, needed));
    return;
  }
  const auto count = static_cast<double>(built);
  to.add(kMemory, "memory PHYs", count * phy->value,
         fmt::format("{} x {} built x {:g} mm2, in any process", name, built, phy->value), {phy});
  to.add_logic(kMemory, "memory controllers", count * controller->value,
               fmt::format("{} x {} built x {:.3g} M", name, built, controller->value), {controller});
}

void add_links(Parts& to) {
  for (const auto& [name, links] : to.die.links) {
    const std::string key = "links." + name;
    const Figure* phy = to.need(Table::kLinkPhy, name, key);
    const Figure* controller = phy == nullptr ? nullptr : to.need(Table::kLinkController, name, key);
    if (controller == nullptr) continue;
    const auto count = static_cast<double>(links.count);
    to.add(kLinks, name + " PHYs", count * phy->value,
           fmt::format("{} x {:g} mm2, in any process", links.count, phy->value), {phy});
    to.add_logic(kLinks, name + " controllers", count * controller->value,
                 fmt::format("{} x {:.3g} M", links.count, controller->value), {controller});
  }
}

void add_other(Parts& to, std::int64_t dies) {
  const Figure& usual = to.technology.at(Table::kOther, "other");
  const auto count = static_cast<double>(dies);
  if (to.die.other)
    to.all.push_back({std::string(kOtherParts), "other", count * to.die.other->v, 0,
                      fmt::format("die.other: {:g} mm2 a die", to.die.other->v), "the chip's file"});
  else
    to.add(kOtherParts, "other", count * usual.value, fmt::format("{:g} mm2 a die, in any process", usual.value),
           {&usual});
}

void refuse_levels_without_rule(Parts& to) {
  for (const arch::Level* level : arch::levels_without_role(to.chip))
    to.refuse("", fmt::format("memory.{}: no rule gives the area of a {}", arch::spec_of(*level).name,
                              arch::in_words(*level)));
}

void compare_with_stated(const arch::DieSpec& die, DieArea& out, base::Diagnostics& diags) {
  if (!die.area || die.changed) return;
  out.stated_mm2 = die.area->v;
  out.difference = out.die_mm2 / die.area->v - 1;
  if (die.million_transistors) out.million_per_mm2 = static_cast<double>(*die.million_transistors) / die.area->v;
  if (*out.difference > 0)
    diags.note(die.places.of("area"),
               fmt::format("die.area: the parts of {} are {:.0f} mm2, {:.0f} % more than the {:.4g} mm2 that are "
                           "stated; docs/energy.md says how far off the rules are",
                           die.name, out.die_mm2, 100 * *out.difference, die.area->v));
}

}  // namespace

std::optional<DieArea> area_of(const arch::ArchSpec& a, const Technology& technology, base::Position chip,
                               base::Diagnostics& diags) {
  if (!a.die) {
    diags.error(chip,
                fmt::format("the chip {} has no `die`, which area and price follow from; state its name, node, and "
                            "what is built (docs/energy.md)",
                            a.name));
    return std::nullopt;
  }
  const std::size_t before = diags.count();
  Parts parts(a, technology, diags);
  parts.density = parts.need(Table::kDensity, a.die->node, "node");
  if (parts.density != nullptr) parts.cell = parts.need(Table::kSramCell, a.die->node, "node");
  if (parts.cell == nullptr) return std::nullopt;
  parts.cores = a.die->cores.value_or(a.core.count);
  DieArea out{a.die->name, a.die->node, a.die->dies.value_or(1), parts.cores, a.core.count, {}, 0, 0, {}, {}, {}};
  add_core_parts(parts);
  add_interconnect(parts);
  add_device_caches(parts);
  add_memory(parts);
  add_links(parts);
  add_other(parts, out.dies);
  refuse_levels_without_rule(parts);
  if (diags.count() != before) return std::nullopt;
  out.parts = std::move(parts.all);
  for (const AreaPart& p : out.parts) out.total_mm2 += p.mm2;
  for (AreaPart& p : out.parts) p.share = p.mm2 / out.total_mm2;
  out.die_mm2 = out.total_mm2 / static_cast<double>(out.dies);
  compare_with_stated(*a.die, out, diags);
  return out;
}

double area_of_group(const DieArea& area, std::string_view group) {
  double mm2 = 0;
  for (const AreaPart& p : area.parts)
    if (p.group == group) mm2 += p.mm2;
  return mm2;
}

}  // namespace tilescope::energy

// SPDX-License-Identifier: Apache-2.0
#include "arch/detail/power_checks.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"

namespace tilescope::arch {
namespace {

void check_held(const std::string& name, const HeldLevel& held, const Level& level, Complaints& complaints) {
  const Path path = {"energy", "levels", name, "holds_for"};
  if (kind_of(level) == Kind::kDram) complaints.add(path, "the energy of a DRAM's bytes follows no geometry");
  if (kind_of(level) != Kind::kScratchpad && (held.banks || held.bank_width))
    complaints.add(path, "the level has no banks");
}

void check_node(const ArchSpec& a, std::string_view section, const std::optional<std::string>& node,
                Complaints& complaints) {
  if (node && !a.die)
    complaints.add({section, "node"}, "the chip states no `die`, whose node the figures would follow");
}

void check_energy(const ArchSpec& a, const EnergySpec& e, Complaints& complaints) {
  std::vector<std::string_view> instructions, levels;
  for (const ComputeSpec& c : a.compute) instructions.push_back(c.name);
  for (const Level& l : a.memory)
    if (kind_of(l) != Kind::kRegister) levels.push_back(spec_of(l).name);
  complaints.require_known({"energy", "operations"}, instructions, "no instruction of `compute`");
  complaints.require_known({"energy", "levels"}, levels, "no level that loads and stores reach");
  for (const auto& [name, level] : e.levels) {
    const Level* of = level_named(a, name);
    if (of == nullptr) continue;
    if (level.holds_for) check_held(name, *level.holds_for, *of, complaints);
    if (kind_of(*of) == Kind::kDram) continue;
    if (level.chip) complaints.add({"energy", "levels", name, "chip"}, "the level is no DRAM; `byte` is on the chip");
    if (level.activate) complaints.add({"energy", "levels", name, "activate"}, "the level is no DRAM");
  }
  if (e.link && (!a.link || !links_cores(*a.link)))
    complaints.add({"energy", "link"}, "the chip's cores are not linked with each other");
}

}  // namespace

void check_power(const ArchSpec& a, Complaints& complaints) {
  if (a.energy) check_energy(a, *a.energy, complaints);
  if (a.energy) check_node(a, "energy", a.energy->node, complaints);
  if (a.power) check_node(a, "power", a.power->node, complaints);
  if (!a.power || !a.power->limit || a.power->curve.points.empty()) return;
  // More cores under a limit that was stated for fewer, or another process, are no mistake: no clock keeps to it then,
  // which rows say.
  if (complaints.is_older({"power", "limit"}, {"core", "count"}) || a.power->node) return;
  const Hertz slowest = a.power->curve.points.front().clock;
  if (const auto rest = power_at_rest(a, *a.power, slowest); rest && *a.power->limit <= rest->sum())
    complaints.add({"power", "limit"},
                   fmt::format("{:g} W is no more than the {:.1f} W that the board draws at rest at {:g} MHz",
                               a.power->limit->v, rest->sum().v, static_cast<double>(slowest.n) / 1e6));
}

}  // namespace tilescope::arch

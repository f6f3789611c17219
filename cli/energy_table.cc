// SPDX-License-Identifier: Apache-2.0
#include "cli/energy_table.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tilescope::cli {
namespace {

// The parts of an energy that are above a hundredth of it, largest first: "dram 41 %, leakage 20 %".
std::string parts_text(const api::EnergyRow& e) {
  constexpr double kShown = 0.01;
  std::vector<api::NamedNumber> parts = e.parts;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const api::NamedNumber& a, const api::NamedNumber& b) { return a.number > b.number; });
  std::string out;
  for (const api::NamedNumber& p : parts)
    if (p.number > kShown * e.energy_uj)
      out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", p.name, 100 * p.number / e.energy_uj);
  return out;
}

}  // namespace

void check_energy(const arch::ArchSpec& a, base::Diagnostics& diags) {
  if (!a.power && !a.energy)
    diags.error({diags.add_source("--energy")},
                fmt::format("the file of {} states neither `power` nor `energy`", a.name));
}

EnergyTable::EnergyTable(const std::string& programs, const std::string& times)
    : table_({{programs},
              {times, true},
              {"power", true},
              {"energy", true},
              {"clock at limit", true},
              {"time at limit", true},
              {"energy at limit", true},
              {"parts of the energy"}}) {}

void EnergyTable::add(const std::string& id, double us, const std::optional<api::EnergyRow>& energy,
                      const std::optional<std::string>& no_energy) {
  if (!energy) {
    table_.add({id, time_text(us), "-", "-", "-", "-", "-", "no " + no_energy.value_or("figures")});
    return;
  }
  std::vector<std::string> row = {id, time_text(us), fmt::format("{:.0f} W", energy->power_w),
                                  energy_text(energy->energy_uj)};
  if (energy->limit_clock_mhz)
    row.insert(row.end(), {fmt::format("{:.0f} MHz", *energy->limit_clock_mhz), time_text(*energy->time_at_limit_us),
                           energy_text(*energy->energy_at_limit_uj)});
  else
    row.insert(row.end(), {"none", "-", "-"});
  row.push_back(parts_text(*energy));
  table_.add(row);
}

void EnergyTable::print() const {
  fmt::print("\n");
  table_.print();
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
#include "energy/scaling.h"

#include <variant>

#include "base/check.h"
#include "energy/array_energy.h"
#include "energy/technology.h"

namespace tilescope::energy {

double geometry_factor(const arch::Level& level, const arch::LevelEnergy& energy) {
  if (!energy.holds_for) return 1;
  const arch::HeldLevel& held = *energy.holds_for;
  const arch::Bytes capacity = arch::spec_of(level).capacity, was = held.capacity.value_or(capacity);
  if (const auto* scratchpad = std::get_if<arch::ScratchpadLevel>(&level))
    return scratchpad_byte_pj(capacity, scratchpad->banks, scratchpad->bank_width) /
           scratchpad_byte_pj(was, held.banks.value_or(scratchpad->banks),
                              held.bank_width.value_or(scratchpad->bank_width));
  return cache_byte_pj(capacity) / cache_byte_pj(was);
}

double process_factor(const arch::ArchSpec& a, const std::optional<std::string>& held_node) {
  if (!held_node) return 1;
  base::check(a.die.has_value(), "figures of a process are of a chip with a die");
  const Technology& technology = Technology::own();
  return technology.at(Table::kNodeEnergy, a.die->node).value / technology.at(Table::kNodeEnergy, *held_node).value;
}

std::string why_no_process_factor(const arch::ArchSpec& a, const std::optional<std::string>& held_node) {
  if (!held_node) return {};
  for (const std::string& node : {a.die->node, *held_node})
    if (Technology::own().find(Table::kNodeEnergy, node) == nullptr)
      return Technology::own().why_unknown(Table::kNodeEnergy, node);
  return {};
}

std::optional<arch::PowerAtRest> power_at_rest(const arch::ArchSpec& a, arch::Hertz clock) {
  base::check(a.power.has_value(), "a chip whose power is asked for states it");
  auto rest = arch::power_at_rest(a, *a.power, clock);
  if (!rest) return std::nullopt;
  const double factor = process_factor(a, a.power->node);
  rest->leakage.v *= factor;
  rest->clock_tree.v *= factor;
  return rest;
}

}  // namespace tilescope::energy

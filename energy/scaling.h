// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a chip's figures of power and energy follow what has changed since they were stated (arch/power.h): the geometry
// of a level and the process. The chip's description keeps what they were stated for; where nothing changed, factors
// are one.
//
//   byte of a cache or a scratchpad   energy of its array over that of the array that it held for (array_energy.h)
//   anything at the cores' voltage    energy of the process over that of the process that it held for, at equal speed,
//                                     a lower voltage included; the curve of voltages stays
//
// Leakage, clock tree and channels are stated for one core or channel and follow their number by themselves.

#include <optional>
#include <string>

#include "arch/derive.h"
#include "arch/spec.h"

namespace tilescope::energy {

// On the energy of a byte of that level for its geometry.
double geometry_factor(const arch::Level& level, const arch::LevelEnergy& energy);

// On energies on the chip, and on leakage and clock tree, for the process. Both processes must be known (checked).
double process_factor(const arch::ArchSpec& a, const std::optional<std::string>& held_node);

// Why there is no factor for a process that changed, empty where there is one.
std::string why_no_process_factor(const arch::ArchSpec& a, const std::optional<std::string>& held_node);

// The power of the chip's board with nothing running, with the figures as they follow; nullopt where its curve ends
// below the clock. The chip states `power` (checked).
std::optional<arch::PowerAtRest> power_at_rest(const arch::ArchSpec& a, arch::Hertz clock);

}  // namespace tilescope::energy

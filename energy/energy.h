// SPDX-License-Identifier: Apache-2.0
#pragma once
// The energy of what a program does, the power of the board while it does it, and the clock at which it keeps to the
// board's limit:
//
//     P(f) = c + V^2 (L + k f) + (V^2 / U^2 * sum(e n) + sum(d n)) / t(f)
//
// c, L and k are the chip's `power` (arch/power.h), V the voltage of its curve at the clock f, n the counts, e their
// energies on the chip, stated at the voltage U, d those of the DRAM, which has a supply of its own, and t the time.
// Dynamic energy does not depend on the time; an error of the time is one of the rest alone.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "energy/counts.h"

namespace tilescope::energy {

// One summand of an energy. Its name is an instruction or a level of the chip, or one of `rest` (board and DRAM without
// work), `leakage`, `clock tree`, `instructions` and `link`.
struct Part {
  std::string name;
  double uj = 0;
};

// The energy of a program at one clock, in microjoules, microseconds and watts.
struct Energy {
  arch::Hertz clock;
  double time_us = 0;
  std::vector<Part> parts;

  double uj() const;
  double power_w() const { return uj() / time_us; }
};

// Which keys a chip's file lacks for the energy of such counts, each with what it is for; empty where it lacks none.
std::vector<std::string> missing_keys(const arch::ArchSpec& a, const Counts& counts);

// The energy of counts in that time at that clock of the cores. No key may be missing, and the curve of voltages covers
// the clock (both checked).
Energy energy_of(const arch::ArchSpec& a, const Counts& counts, arch::Hertz clock, double time_us);

// The program's time at a clock of the cores, microseconds.
using TimeAt = std::function<double(arch::Hertz)>;

// At the highest clock, at most the chip's, at which the board keeps to its limit; `own`, the program's energy at the
// chip's clock, where the file states none. Nullopt where the board exceeds the limit at any clock. The time is judged
// anew at a few clocks, until the power is within `near_limit` of the limit, below it. Conditions are those of
// energy_of.
std::optional<Energy> at_limit(const arch::ArchSpec& a, const Counts& counts, const Energy& own, const TimeAt& time_at,
                               double near_limit);

// A program as it ran on a board that no limit held down.
struct Measurement {
  arch::Hertz clock;
  double time_us = 0, power_w = 0;
  double clocked = 1;  // share of the time that goes with the cores' clock; memory takes the rest
};

struct ClockAtLimit {
  arch::Hertz clock;
  double time_us = 0, power_w = 0;
};

// The same program on a board of that limit, at most as fast as it was measured: what it drew beyond the board at rest
// goes with the square of the voltage. Nullopt where it exceeds the limit at any clock, or where the chip states no
// power at the measurement's clock, or one above the measured.
std::optional<ClockAtLimit> at_limit(const arch::ArchSpec& a, const Measurement& measured, arch::Watts limit);

}  // namespace tilescope::energy

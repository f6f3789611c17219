// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope limit`: the clock and the time that a board's power limit leaves to a measured program.

#include <optional>

#include "arch/spec.h"
#include "base/describe.h"
#include "base/diagnostics.h"

namespace tilescope::api {

using base::to_entries;

struct LimitQuestion {
  double time_us = 0, power_w = 0, clock_mhz = 0;  // as measured, without a limit
  double clocked = 1;                              // share of the time that goes with the clock of the cores
  std::optional<double> limit_w;                   // the chip's where absent
};

struct LimitRow {
  double limit_w = 0, clock_mhz = 0, time_us = 0, power_w = 0;
};

template <class V>
void describe(V& v, base::Is<LimitRow> auto& r) {
  v.field({"limit_w", "W", "Power limit of the board."}, r.limit_w);
  v.field({"clock_mhz", "MHz", "The highest clock at which the board keeps to it."}, r.clock_mhz);
  v.field({"time_us", "us", "Time of the program at that clock."}, r.time_us);
  v.field({"power_w", "W", "Power of the board at that clock."}, r.power_w);
}

// Nullopt after an error: the chip states no power, the measurement is below what the board draws at rest, or no clock
// keeps to the limit.
std::optional<LimitRow> clock_at_limit(const LimitQuestion& question, const arch::ArchSpec& a,
                                       base::Diagnostics& diags);

}  // namespace tilescope::api

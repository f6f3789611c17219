// SPDX-License-Identifier: Apache-2.0
#pragma once
// The simulator's time.

#include "sim/common/ticks.h"

namespace tilescope::sim {

using Cycle = Ticks<struct CoreClockTag>;  // of the cores' clock

constexpr Cycle operator""_cycles(unsigned long long count) { return Cycle(static_cast<std::int64_t>(count)); }

}  // namespace tilescope::sim

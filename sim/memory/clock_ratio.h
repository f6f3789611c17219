// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts times of the DRAM's clock to times of the cores' clock and back. No other code converts between the two.

#include <cstdint>
#include <numeric>

#include "base/integer.h"
#include "base/units.h"
#include "sim/common/cycle.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

// The ratio clocks() / cycles() of DRAM clocks to core cycles, in lowest terms.
class ClockRatio {
 public:
  constexpr ClockRatio() = default;
  constexpr ClockRatio(base::Hertz dram, base::Hertz cores)
      : clocks_(dram.n / std::gcd(dram.n, cores.n)), cycles_(cores.n / std::gcd(dram.n, cores.n)) {}

  constexpr std::int64_t clocks() const { return clocks_; }
  constexpr std::int64_t cycles() const { return cycles_; }

  // The DRAM clock during which a core cycle begins.
  constexpr Clock clock_at(Cycle c) const { return Clock(c.count() * clocks_ / cycles_); }
  // The first core cycle that does not begin before a DRAM clock does.
  constexpr Cycle cycle_at(Clock c) const { return Cycle(base::ceil_div(c.count() * cycles_, clocks_)); }
  // The beginning of a DRAM clock in core cycles.
  constexpr double cycles_of(Clock c) const {
    return static_cast<double>(c.count() * cycles_) / static_cast<double>(clocks_);
  }

 private:
  std::int64_t clocks_ = 1, cycles_ = 1;
};

}  // namespace tilescope::sim

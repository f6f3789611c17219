// SPDX-License-Identifier: Apache-2.0
#pragma once
// A clock's cycles in SystemC's time: cycle c begins at the first unit of time that is not before c / clock.

#include <cmath>
#include <cstdint>
#include <systemc>

#include "base/units.h"
#include "sim/common/cycle.h"

namespace tilescope::sim {

class CyclesOfTime {
 public:
  // One unit is one cycle.
  CyclesOfTime() = default;
  // A clock of at most one cycle a unit. The time resolution is fixed by that.
  explicit CyclesOfTime(base::Hertz clock)
      : units_(static_cast<std::uint64_t>(std::llround(1 / sc_core::sc_get_time_resolution().to_seconds()))),
        clock_(static_cast<std::uint64_t>(clock.n)) {}

  sc_core::sc_time begin_of(std::int64_t cycle) const {
    const Wide units = (static_cast<Wide>(cycle) * units_ + clock_ - 1) / clock_;
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(units));
  }
  // The cycle that holds a time; the first one that begins at it or later.
  std::int64_t cycle_of(const sc_core::sc_time& t) const {
    return static_cast<std::int64_t>(static_cast<Wide>(t.value()) * clock_ / units_);
  }
  std::int64_t cycle_from(const sc_core::sc_time& t) const {
    const std::int64_t c = cycle_of(t);
    return begin_of(c) < t ? c + 1 : c;
  }

  Cycle now() const { return cycle_of(sc_core::sc_time_stamp()); }
  // From now until that cycle begins.
  sc_core::sc_time until(Cycle at) const {
    const sc_core::sc_time begin = begin_of(at);
    const sc_core::sc_time& now = sc_core::sc_time_stamp();
    return begin > now ? begin - now : sc_core::SC_ZERO_TIME;
  }

 private:
  __extension__ using Wide = unsigned __int128;  // products of times and clocks

  std::uint64_t units_ = 1, clock_ = 1;  // of a second
};

}  // namespace tilescope::sim

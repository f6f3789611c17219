// SPDX-License-Identifier: Apache-2.0
#pragma once
// A clock's ticks in SystemC's time: tick c begins at the first unit of time that is not before c / clock.

#include <cmath>
#include <cstdint>
#include <systemc>

#include "base/units.h"

namespace tilescope::sim {

// Converts ticks of one instance of Ticks (sim/common/ticks.h) to and from SystemC's time.
template <class Tick>
class TicksOfTime {
 public:
  // One unit of SystemC's time is one tick.
  TicksOfTime() = default;
  // A clock of at most one tick per unit of SystemC's time. Fixes SystemC's time resolution.
  explicit TicksOfTime(base::Hertz clock)
      : units_(static_cast<std::uint64_t>(std::llround(1 / sc_core::sc_get_time_resolution().to_seconds()))),
        clock_(static_cast<std::uint64_t>(clock.n)) {}

  sc_core::sc_time begin_of(Tick tick) const {
    const Wide units = (static_cast<Wide>(tick.count()) * units_ + clock_ - 1) / clock_;
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(units));
  }
  // tick_of() returns the tick that contains a time, tick_from() the first tick that begins at it or later.
  Tick tick_of(const sc_core::sc_time& t) const {
    return Tick{static_cast<std::int64_t>(static_cast<Wide>(t.value()) * clock_ / units_)};
  }
  Tick tick_from(const sc_core::sc_time& t) const {
    const Tick tick = tick_of(t);
    return begin_of(tick) < t ? tick + Tick{1} : tick;
  }

  Tick now() const { return tick_of(sc_core::sc_time_stamp()); }
  // Time from now until the tick begins; zero where it has begun.
  sc_core::sc_time until(Tick at) const {
    const sc_core::sc_time begin = begin_of(at);
    const sc_core::sc_time& now = sc_core::sc_time_stamp();
    return begin > now ? begin - now : sc_core::SC_ZERO_TIME;
  }

 private:
  __extension__ using Wide = unsigned __int128;  // products of times and clocks

  std::uint64_t units_ = 1, clock_ = 1;  // per second
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a program, with launches and skipped time, by that of its simulation.

#include <cstdint>
#include <vector>

#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

class ProgramTime {
 public:
  enum class Side : std::uint8_t { kBefore, kBehind };

  // A kernel whose simulation is at `now` when the program is at `shown`.
  void begin(double shown, Cycle now) {
    jumps_.clear();
    shift_ = shown - static_cast<double>(now);
  }
  // The simulation skips `cycles` at `at`, no earlier than where it skipped any before.
  void jump(Cycle at, Cycle cycles) { jumps_.push_back({at, cycles}); }
  // The program's time at a moment of the simulation; at a jump, before or behind it.
  double shown(double at, Side side) const {
    Cycle jumped{};
    for (const Jump& j : jumps_)
      if (const auto moment = static_cast<double>(j.at); moment < at || (side == Side::kBehind && moment == at))
        jumped += j.cycles;
    return at + shift_ + static_cast<double>(jumped);
  }
  // Visits the parts of from .. until between jumps, in the program's time.
  template <class Visit>
  void visit_parts(double from, double until, const Visit& visit) const {
    for (const Jump& j : jumps_) {
      const auto at = static_cast<double>(j.at);
      if (at <= from || at >= until) continue;
      visit(shown(from, Side::kBehind), shown(at, Side::kBefore));
      from = at;
    }
    visit(shown(from, Side::kBehind), shown(until, Side::kBefore));
  }

 private:
  struct Jump {
    Cycle at{}, cycles{};
  };
  std::vector<Jump> jumps_;  // of the kernel
  double shift_ = 0;         // without jumps
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// When a chip hands out its blocks: at most one in each interval of cycles.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/common/cycle.h"

namespace tilescope::sim {

class BlockRate {
 public:
  // 0: blocks are handed out at once.
  BlockRate(double interval, Cycle turn) : interval_(interval), turn_(turn) {}

  void begin(Cycle now) { next_ = static_cast<double>(now); }
  // When the next block is handed out, for which there has been room since then. Ends of blocks within a turn come in
  // any order, so the next one waits for the rate alone.
  Cycle hand_out(Cycle room_since, Cycle now) {
    if (interval_ == 0) return room_since;
    const double at = std::max(next_, static_cast<double>(room_since));
    next_ = std::max(next_, static_cast<double>(now - turn_)) + interval_;
    return Cycle(static_cast<std::int64_t>(std::ceil(at)));
  }

 private:
  double interval_;
  Cycle turn_;
  double next_ = 0;
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What no program of a grid of cores goes below, by this model's own terms: what every core must get and add up,
// however its inputs move. A search need not judge what cannot be among the best.

#include "arch/spec.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

class GridBound {
 public:
  // Of the grid of `s`, whatever its blocks and moves are.
  GridBound(const tile::BspStage& s, const arch::ArchSpec& a);

  // Microseconds that total_us() is not below, of a program of the grid or of one whose further inputs rotate too.
  double of(const tile::BspStage& s) const;

 private:
  const arch::ArchSpec& a_;
  const arch::ComputeSpec& instruction_;
  double received_us_ = 0;  // the bytes that a core gets, at the highest rate that its port has
  double fixed_us_ = 0;     // partial sums, launch
};

}  // namespace tilescope::model::bsp

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lower bound on the time of every program over one grid of cores, by this model's own terms: what every core must
// receive, compute and add up, whatever the dataflow of its inputs. A search skips programs that the bound excludes.

#include "arch/spec.h"
#include "tile/bsp/schedule.h"

namespace tilescope::model::bsp {

class GridBound {
 public:
  // The bound for the grid of `s`, whatever its blocks and dataflow.
  GridBound(const tile::BspStage& s, const arch::ArchSpec& a);

  // A lower bound on total_us() in microseconds. It holds for `s`, a program of the grid, and for `s` with further
  // inputs shifted.
  double of(const tile::BspStage& s) const;

 private:
  const arch::ArchSpec& a_;
  const arch::ComputeSpec& instruction_;
  double received_us_ = 0;  // the bytes that a core receives, at the highest rate of its port
  double fixed_us_ = 0;     // adding partial sums, launch
};

}  // namespace tilescope::model::bsp

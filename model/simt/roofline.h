// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lower bound on the time of every program of a stage on a chip, before any program is made.

#include "model/simt/machine.h"
#include "tile/microkernel/micro_kernel.h"
#include "tile/space.h"

namespace tilescope::model {

// The roofline of a stage on a machine (Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52(4),
// 2009): the longer of arithmetic at its peak on all cores and every byte that the stage touches through DRAM once,
// plus the kernel's launch. It bounds estimates: none is lower, whatever tiles, layouts and splits a program has.
class Roofline {
 public:
  Roofline(const tile::TileSpace& space, const tile::MicroKernel& kernel, const Machine& m);

  // The bound in microseconds for programs that compute that many iterations, including those of blocks beyond the
  // stage's ranges.
  double least_us(double iterations) const;

 private:
  double launch_us_ = 0, memory_us_ = 0, us_per_iteration_ = 0;
};

}  // namespace tilescope::model

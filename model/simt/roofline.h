// SPDX-License-Identifier: Apache-2.0
#pragma once
// What no program of a stage takes less than on a chip, before any is made.

#include "model/simt/machine.h"
#include "tile/microkernel/micro_kernel.h"
#include "tile/space.h"

namespace tilescope::model {

// The roofline of a stage on a machine (Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52(4),
// 2009): arithmetic at its peak on all cores, and every byte that the stage touches through DRAM once, of which the
// longer one counts, and the kernel's launch. A bound of estimates: they take no less, whatever tiles, layouts and
// splits a program has.
class Roofline {
 public:
  Roofline(const tile::TileSpace& space, const tile::MicroKernel& kernel, const Machine& m);

  // Of programs that compute so many iterations, those of blocks beyond the stage's ranges among them. Microseconds.
  double least_us(double iterations) const;

 private:
  double launch_us_ = 0, memory_us_ = 0, us_per_iteration_ = 0;
};

}  // namespace tilescope::model

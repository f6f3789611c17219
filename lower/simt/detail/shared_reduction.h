// SPDX-License-Identifier: Apache-2.0
#pragma once
// The results of threads that share a reduction, made one in each of them (tile/shared_reduction.h).

#include <functional>
#include <string>

#include "lower/simt/microkernel/detail/lowering.h"
#include "tile/shared_reduction.h"

namespace tilescope::lower {

// A meeting of the computing threads, behind which each sees what all of them wrote to the scratchpad; `note` says what
// for.
using Sync = std::function<Body(const std::string& note)>;

class SharedReduction {
 public:
  SharedReduction(Stage& stage, MicroKernelLowering& products)
      : s_(stage), products_(products), sharing_(tile::sharing_of(stage.p, stage.chip.core)) {}

  bool through_scratchpad() const { return sharing_.groups > 1; }
  // Adds the arrays that results sync in; accumulators have theirs.
  void add_buffers();
  // Behind the last step: from what each thread has of its results to the whole.
  Body combine(const Sync& sync);

 private:
  Body across_lanes();
  Body across_groups(const Sync& sync);
  expr::Reducer reducer() const;

  Stage& s_;
  MicroKernelLowering& products_;
  const tile::ReductionSharing sharing_;
  int parts_ = -1, other_ = -1;  // of the scratchpad; a register
};

}  // namespace tilescope::lower

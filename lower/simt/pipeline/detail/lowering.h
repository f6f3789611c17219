// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a family of pipelines says of a block's statements: in which order the transfers and the products of its steps
// stand, and how they wait for each other. One function an entry: serial.cc, multi_stage.cc, warp_specialized.cc.

#include <optional>
#include <vector>

#include "lower/simt/microkernel/detail/lowering.h"
#include "lower/simt/transfer/detail/lowering.h"
#include "lower/simt/transfer/detail/results.h"
#include "tile/live_steps.h"

namespace tilescope::lower {

// What a block's body is put together from.
struct BlockParts {
  Stage& stage;
  MicroKernelLowering& products;
  Transfers& transfers;
  ResultsLowering& results;
};

// The body of the block, by the program's pipeline.
Body pipelined(const BlockParts& parts);

// The tiles of one step at a time, between two barriers.
Body serial(const BlockParts& parts);

// A ring buffer of stages: a step's tiles are copied `stages - 1` steps before it, while products of earlier ones run.
Body multi_stage(const BlockParts& parts);

// The same ring with a producer warp, which starts the TMA loads; producer and consumer warps synchronise by mbarriers.
Body warp_specialized(const BlockParts& parts);

// The meeting of all threads of a block.
Body at_barrier(const std::string& note);

// The loop over a block's steps, those in which terms count, or the one step that there is. `begins`: of the kernel's
// block along its spatial axes.
struct StepLoop {
  StepLoop(IndexMaker& maker, std::int64_t steps, const tile::LiveSteps& live, const std::vector<Affine>& begins);
  Body around(Body of_step) const;
  // What holds of the steps up to the last one.
  std::vector<Guard> not_after_last(IndexMaker& maker, const Affine& step) const;

  int index = -1;  // -1 without a loop
  Affine step;
  std::optional<Affine> first, last;  // where blocks have their own
};
// That of a stage whose steps are its own.
StepLoop step_loop(Stage& s);

}  // namespace tilescope::lower

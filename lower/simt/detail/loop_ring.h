// SPDX-License-Identifier: Apache-2.0
#pragma once
// A ring around a group's loop (tile/loop_ring.h): what is copied before the loop, and what a step begins and ends
// with.

#include <functional>
#include <vector>

#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {

// A stage of the loop with tiles: where it stands in that step of the loop.
struct RingMember {
  BlockParts parts;
  std::function<StepPosition(const Affine& step)> at;
};

class LoopRing {
 public:
  // The ring holds the tiles of `stages` steps of the loop. `loop` outlives it.
  LoopRing(IndexMaker& maker, const StepLoop& loop, std::int64_t steps, std::int64_t stages);

  void add(RingMember member) { members_.push_back(std::move(member)); }
  // The stage of the ring that has the tiles of the loop's present step.
  const Affine& now() const { return now_; }

  // The copies of what stays, and of the first steps, one short of all stages.
  Body before();
  // Waits for the step's tiles, and starts copies of a later step; takes what of them passes through registers.
  Body begin_step();
  Body end_step();

  // Whether a producer warp loads all tiles by TMA. Instead of the above, consumers then wait for the tiles that stay,
  // and in each step for the stage's, which they use and set free; the producers' body, and both as roles of the block.
  bool has_roles() const;
  Body await_once() const;
  Body consumed(const Stage& s, Body use) const;
  Body roles(Body consuming, std::int64_t consumers, std::int64_t threads);

 private:
  Body produced();
  bool asynchronous() const;
  // Where a step exists, `stages - 1` behind the present one.
  Statement when_more(Body body);

  IndexMaker& maker_;
  const StepLoop& loop_;
  const std::int64_t steps_, stages_;
  Affine now_, next_;
  std::vector<RingMember> members_;
};

}  // namespace tilescope::lower

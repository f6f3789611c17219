// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks that end and start while time is jumped over: every resident block goes on at its own rate, and where one
// ends, the next of those not yet started takes its place, as the scheduler of blocks would have it.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/gpu/sampling_units.h"

namespace tilescope::sim {

struct FastForwardSpec {
  std::int64_t steps = 1;                        // of a block
  std::int64_t last_steps = 0;                   // that are not left out
  double between = 0;                            // cycles from the last step of a block to its successor's first
  std::int64_t next_block = 0, not_started = 0;  // blocks to come
  double max_ends = 0;                           // part of the blocks that may come to their last steps where none is
  Cycle now{};                                   // with what was skipped
};

// Steps that one block leaves out.
struct SkippedSteps {
  std::size_t place = 0;
  std::int64_t block = -1;  // -1: the one that is there when the jump begins, from where it stands
  std::int64_t steps = 0;   // its next ones; of another block its first ones, what comes before them included
  double from = 0, to = 0;  // cycles from the beginning of the jump
  bool ends = false;        // the block ends after them
};

struct FastForward {
  std::vector<StepJump> jumps;  // by block
  double cycles = 0;            // no more than were asked for: until no block is left to start
  std::int64_t warp_steps = 0;
  std::int64_t blocks = 0;            // that ended
  Cycle lasted{};                     // from their starts to their ends, all of them
  std::vector<SkippedSteps> skipped;  // all that is left out
  double warmed = 0;                  // cycles before the end of the jump whose accesses the caches have to see
};

// Steps of one warp per cycle, of the block that is there and of those that come after it.
struct PlaceRate {
  double now = 0, later = 0;
};

// Blocks outside the loop over steps stay where they are.
FastForward fast_forward(std::span<const StepProgress> blocks, std::span<const PlaceRate> rates, double cycles,
                         const FastForwardSpec& spec);

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which share of a loop's steps the blocks of a kernel take, where terms count in some of them only
// (tile/live_steps.h).

#include <cstdint>

#include "base/fixed_vector.h"
#include "tile/live_steps.h"

namespace tilescope::model {

// Whether blocks begin in the order of their lengths.
enum class LengthOrder : std::uint8_t { kMixed, kGrowing, kFalling };

struct StepShares {
  double mean = 1, longest = 1;  // over all blocks, and of the block with the most
  LengthOrder order = LengthOrder::kMixed;
  // Tile axes of the stage that decide it, the stepped one among them.
  base::FixedVector<int, tile::kMaxAxes> axes = {};

  bool uneven() const { return longest > mean; }
};

// `kernel`: the program whose blocks are the kernel's.
StepShares step_shares(const tile::LiveSteps& live, const tile::StageProgram& kernel);

}  // namespace tilescope::model

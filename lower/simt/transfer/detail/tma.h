// SPDX-License-Identifier: Apache-2.0
#pragma once
// TMA loads (PTX's cp.async.bulk.tensor), which one thread starts: a box for every panel of a cached tile
// (tile/transfer/tma.h).

#include "lower/simt/transfer/detail/lowering.h"

namespace tilescope::lower {

// The mbarriers of a stage behind Stage::mbarriers, a ring each (Kernel::mbarriers): full, tiles have arrived; empty,
// consumers have read them; and where results pass through the scratchpad, one at which the warps of a crew sync, a
// stage for each crew. In a ring around a group's loop, one of the tiles that are loaded once.
inline constexpr int kFull = 0, kEmpty = 1, kMet = 2, kOnce = 2;

// Bytes of the tiles of a step, or of those that are loaded once.
std::int64_t loaded_bytes(const Stage& s, bool once);

// The boxes of an operand's tile, one for every panel of its two innermost dimensions, wherever the others stand; the
// tile begins at `first` in its array, and at `begin` along the tile axes.
struct TileBoxes {
  TmaBox box;
  std::vector<AxisLoop> loops;
};
TileBoxes boxes_of_tile(Stage& s, std::size_t operand, const Affine& first, const std::vector<Affine>& begin);

class TmaLowering final : public TransferLowering {
 public:
  using TransferLowering::TransferLowering;

  void add_tile() override;
  Body start(const StepPosition& at, const Affine& ring_stage) override;
  bool asynchronous() const override { return true; }

 private:
  void take_own_rows(TmaBox& box, std::int64_t blocks);
};

}  // namespace tilescope::lower

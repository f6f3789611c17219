// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results in the scratchpad that TMA stores, a box for every panel of the tile (tile/transfer/tma.h); one thread starts
// the stores.

#include "lower/simt/transfer/detail/gathered.h"

namespace tilescope::lower {

class TmaStoreLowering final : public GatheredLowering {
 public:
  using GatheredLowering::GatheredLowering;

 private:
  base::Bytes swizzled_row() const override;
  Affine in_tile(const std::vector<Affine>& at) override;
  Body written() override;
  Body leave_tile() override;
};

}  // namespace tilescope::lower

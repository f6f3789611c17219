// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that stay in the scratchpad, for the stages behind this one in the kernel.

#include "lower/simt/transfer/detail/gathered.h"

namespace tilescope::lower {

class KeptLowering final : public GatheredLowering {
 public:
  using GatheredLowering::GatheredLowering;

 private:
  void add_tile() override;
  Body store(const Sync& sync) override;
  Body leave_tile() override { return {}; }
};

}  // namespace tilescope::lower

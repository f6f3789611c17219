// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that every thread stores from its registers to memory.

#include "lower/simt/transfer/detail/results.h"

namespace tilescope::lower {

class DirectStoreLowering final : public ResultsLowering {
 public:
  using ResultsLowering::ResultsLowering;

 private:
  Body store(const Sync& sync) override;
};

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results in the scratchpad whose rows all threads store.

#include "lower/simt/transfer/detail/gathered.h"
#include "lower/simt/transfer/detail/pieces.h"

namespace tilescope::lower {

class RowStoreLowering final : public GatheredLowering {
 public:
  RowStoreLowering(Stage& stage, MicroKernelLowering& products)
      : GatheredLowering(stage, products), pieces_(stage, output_) {}

 private:
  void add_tile() override;
  Body leave_tile() override;

  CooperativePieces pieces_;
  int carried_ = -1;  // buffer of registers
};

}  // namespace tilescope::lower

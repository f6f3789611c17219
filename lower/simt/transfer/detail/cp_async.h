// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by all threads asynchronously (PTX's cp.async), of steps that lie ahead.

#include "lower/simt/transfer/detail/cooperative.h"

namespace tilescope::lower {

class CpAsyncLowering : public CooperativeLowering {
 public:
  using CooperativeLowering::CooperativeLowering;

  void add_tile() override;
  Body start(const StepPosition& at, const Affine& ring_stage) override;
  bool asynchronous() const override { return true; }
};

}  // namespace tilescope::lower

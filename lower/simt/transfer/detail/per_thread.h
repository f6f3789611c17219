// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies by all threads through their registers: loads from memory, then stores into the scratchpad.

#include "lower/simt/transfer/detail/cooperative.h"

namespace tilescope::lower {

class PerThreadLowering final : public CooperativeLowering {
 public:
  using CooperativeLowering::CooperativeLowering;

  void add_tile() override;
  Body load(const StepPosition& at) override { return load_batch(0, at); }
  Body keep(const Affine& ring_stage) override { return {keep_batch(0, ring_stage)}; }
  Body copy(const StepPosition& at, const Affine& ring_stage) override;
  bool asynchronous() const override { return false; }
  bool in_one_batch() const override { return pieces_.batches() == 1; }

 private:
  Body load_batch(std::int64_t batch, const StepPosition& at);
  Statement keep_batch(std::int64_t batch, const Affine& ring_stage);

  int in_flight_ = -1;  // buffer of registers
};

}  // namespace tilescope::lower

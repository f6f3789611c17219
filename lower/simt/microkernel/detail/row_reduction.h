// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages that reduce, by rows, what lanes hold in registers of an earlier stage (tile/microkernel/row_reduction.h).

#include <vector>

#include "lower/simt/microkernel/detail/lowering.h"

namespace tilescope::lower {

class RowReductionLowering final : public MicroKernelLowering {
 public:
  explicit RowReductionLowering(Stage& stage);

  void add_registers() override {}
  // What this lane holds of its rows. The lanes of a row combine theirs as other threads that share a reduction do
  // (SharedReduction).
  Body finish(const Affine& step, const Affine& ring_stage) override;

  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector) override;
  Affine result_position(std::int64_t vector) override;
  void add_lane(std::vector<Affine>& local) override;

 private:
  const HeldTensor& held_;
  std::vector<std::size_t> own_;  // by axis of the held tensor, the stage's
};

}  // namespace tilescope::lower

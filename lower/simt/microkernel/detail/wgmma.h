// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix instructions of several warps that read their operands from the scratchpad and run asynchronously (PTX's
// wgmma): core matrices in the cached tiles, products that are started and waited for.

#include <vector>

#include "lower/simt/microkernel/detail/matrix_tile.h"

namespace tilescope::lower {

class WgmmaLowering final : public MatrixLowering {
 public:
  using MatrixLowering::MatrixLowering;

  void add_registers() override { s_.block.instruction(tile_.instruction()); }
  Body start(const Affine& step, const Affine& ring_stage) override;
  Body finish(const Affine& step, const Affine& ring_stage) override;
  Body before_reads() const override;
  Affine in_ring_stage(std::size_t operand, const std::vector<Affine>& at, const Affine& ring_stage) override;

 private:
  SharedOperand factor(std::size_t operand, std::int64_t together, const StepPosition& at, const Affine& ring_stage);
};

}  // namespace tilescope::lower

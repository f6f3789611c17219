// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix instructions that one thread issues for its block and that add up in tensor memory (PTX's tcgen05.mma). A warp
// of its own issues them, and the threads that compute read the sums when the commit behind the last step's is over.

#include <vector>

#include "lower/simt/microkernel/detail/core_operands.h"
#include "lower/simt/microkernel/detail/matrix_tile.h"

namespace tilescope::lower {

class Tcgen05Lowering final : public MatrixLowering {
 public:
  using MatrixLowering::MatrixLowering;

  void add_registers() override;
  Body start(const Affine& step, const Affine& ring_stage) override;
  Body finish(const Affine& /*step*/, const Affine& /*ring_stage*/) override { return {}; }
  Body release(int mbarrier, const Affine& step, bool cluster) override;
  std::int64_t releases() const override { return 1; }
  bool issues_apart() const override { return true; }
  Body commit() override;
  Body collect() override;
  Affine in_ring_stage(std::size_t operand, const std::vector<Affine>& at, const Affine& ring_stage) override {
    return in_core_matrices(s_, operand, at, ring_stage);
  }

 private:
  // Loops over the instructions that cover the block's tile, and where those begin in it.
  struct BlockTile {
    std::vector<AxisLoop> loops;
    std::vector<Affine> begin;  // by tile axis; along a reduced one, of the chunk in the step
  };
  BlockTile block_tile();
  // The column of tensor memory at which the sums stand of a place in the block's tile.
  Affine column(const std::vector<Affine>& at) const;
  SharedOperand factor(std::size_t operand, const BlockTile& tile, const StepPosition& at, const Affine& ring_stage);

  int sums_ = -1;  // buffer in tensor memory
  int over_ = -1;  // mbarrier of their one phase, after which they are whole
};

}  // namespace tilescope::lower

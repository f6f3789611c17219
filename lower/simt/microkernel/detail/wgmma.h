// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix instructions of several warps that read their operands from the scratchpad and run asynchronously (PTX's
// wgmma): core matrices in the cached tiles, products that are started and waited for.

#include <optional>
#include <vector>

#include "lower/simt/microkernel/detail/matrix_tile.h"
#include "lower/simt/microkernel/detail/promotion.h"

namespace tilescope::lower {

class WgmmaLowering final : public MatrixLowering {
 public:
  using MatrixLowering::MatrixLowering;

  void add_registers() override;
  Body start(const Affine& step, const Affine& ring_stage) override;
  Body finish(const Affine& step, const Affine& ring_stage) override;
  Body before_reads() const override;
  Affine in_ring_stage(std::size_t operand, const std::vector<Affine>& at, const Affine& ring_stage) override;

 private:
  // The register buffer that products are added to.
  int sums() const { return promotion_ ? promotion_->sums() : s_.results.accumulators; }
  SharedOperand factor(std::size_t operand, std::int64_t together, const StepPosition& at, const Affine& ring_stage);

  std::optional<Promotion> promotion_;  // of products with scales
};

}  // namespace tilescope::lower

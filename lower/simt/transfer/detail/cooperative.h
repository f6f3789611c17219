// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies in which every thread of a block takes part, piece by piece.

#include <vector>

#include "lower/simt/transfer/detail/lowering.h"
#include "lower/simt/transfer/detail/pieces.h"

namespace tilescope::lower {

class CooperativeLowering : public TransferLowering {
 public:
  CooperativeLowering(Stage& stage, MicroKernelLowering& products, std::size_t operand)
      : TransferLowering(stage, products, operand), pieces_(stage, operand) {}

 protected:
  // Adds the tile, and cuts the pieces of a thread into batches of at most so many.
  void add_batches(std::int64_t most);
  // Where an element of the tile is in memory; what a matrix instruction may not add up is outside.
  Located in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at);

  CooperativePieces pieces_;
};

}  // namespace tilescope::lower

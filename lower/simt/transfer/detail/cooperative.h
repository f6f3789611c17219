// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies in which every thread of a block takes part, piece by piece.

#include <optional>
#include <string>
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
  // The copy of the pieces from memory to `to`, but for its guards of pieces. What a matrix instruction may not add up
  // is outside. Of an operand that is gathered, `index` is what loads the indices before.
  struct Load {
    std::optional<Copy> index;
    Copy copy;
  };
  Load load_of(const CooperativePieces::Piece& piece, const StepPosition& at, Access to);
  // The statements of a batch of loads: the indices of all pieces first.
  Body nested(Load load, const CooperativePieces::Piece& piece, const std::string& note) const;

  CooperativePieces pieces_;

 private:
  Located in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at, Affine& table);

  int index_ = -1;  // buffer of registers that hold the indices of a batch
};

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix instructions whose operands lie in the registers of a warp's lanes (PTX's mma, AMD's MFMA): fragments from the
// cached tiles into registers, and their products.

#include <vector>

#include "lower/simt/microkernel/detail/matrix_tile.h"

namespace tilescope::lower {

class MmaLowering final : public MatrixLowering {
 public:
  using MatrixLowering::MatrixLowering;

  void add_registers() override;
  Body finish(const Affine& step, const Affine& ring_stage) override;

 private:
  // Loops over a lane's elements from bit `first` of their number on, the fastest one last; where they stand in the
  // lane's own count is added to `to`, where in the fragment to `place`.
  std::vector<AxisLoop> element_loops(std::size_t operand, std::size_t first, Affine& to, MatrixPlace& place);
  Statement load_fragments(std::size_t operand, const StepPosition& at, const Affine& ring_stage);
  // Elements of an operand's fragments, loaded in another dtype, in the instruction's.
  Statement convert_fragments(std::size_t operand);

  std::vector<int> registers_;          // by input: of its fragments
  std::vector<int> loaded_;             // by input: the same before they are converted; else the same buffer
  std::vector<std::int64_t> elements_;  // by input: elements of both
};

}  // namespace tilescope::lower

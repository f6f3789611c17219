// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that an instruction reads from core matrices in the scratchpad (tile/microkernel/wgmma.h).

#include <vector>

#include "lower/simt/microkernel/detail/matrix_tile.h"

namespace tilescope::lower {

// The element of a cached tile's stage at coordinates of the tile.
Affine in_core_matrices(Stage& s, std::size_t operand, const std::vector<Affine>& at, const Affine& ring_stage);

// The operand of an instruction whose fragment along `side` begins at the element `from`.
SharedOperand core_operand(const Stage& s, std::size_t operand, const MatrixSide& side, Affine from);

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What two operands of one tensor share, where a stage reads it in several patterns or at distant offsets.

#include "tile/space.h"

namespace tilescope::tile {

// Share of the elements of `operand`'s data tile that lie in `other`'s as well, while the loops cover `tile` from their
// beginnings on. 0 where the two are operands of different tensors, or im2col.
double share_in(const Operand& operand, const Operand& other, const Extents& tile);

}  // namespace tilescope::tile

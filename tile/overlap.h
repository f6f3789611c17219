// SPDX-License-Identifier: Apache-2.0
#pragma once
// What two operands of one tensor share, where a stage reads it in several patterns or at distant offsets.

#include "tile/space.h"

namespace tilescope::tile {

// Share of `operand`'s data tile that lies in `other`'s as well, in granules of so many bytes of a row, while the loops
// cover `tile` from their beginnings on. Strided reads whose elements alternate share granules within a row, and no
// rows. 0 where the two are operands of different tensors, im2col, or gathered.
double share_in(const Operand& operand, const Operand& other, const Extents& tile, std::int64_t granule_bytes);

}  // namespace tilescope::tile

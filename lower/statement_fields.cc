// SPDX-License-Identifier: Apache-2.0
#include "lower/statement_fields.h"

#include <algorithm>

#include "base/dtype.h"
#include "tile/microkernel/wgmma.h"
#include "tile/transfer/tma.h"

namespace tilescope::lower {

std::int64_t swizzled_byte(const Buffer& b, std::int64_t byte) { return tile::swizzled(byte, b.swizzled_row); }

std::int64_t reach_of(const Kernel& k, const SharedOperand& o, std::int64_t along, std::int64_t deep) {
  const Buffer& b = k.buffers[static_cast<std::size_t>(o.at.buffer)];
  const std::int64_t columns = (b.swizzled_row > 0 ? b.swizzled_row : tile::kCoreRowBytes) / base::size_of(b.dtype).n;
  const std::int64_t rows = o.transposed ? deep : along, across = o.transposed ? along : deep;
  return (rows - 1) / tile::kCoreRows * (o.transposed ? o.deep : o.along) +
         std::min(rows - 1, tile::kCoreRows - 1) * columns +
         (across - 1) / columns * (o.transposed ? o.along : o.deep) + std::min(across - 1, columns - 1) + 1;
}

}  // namespace tilescope::lower

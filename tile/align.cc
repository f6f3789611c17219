// SPDX-License-Identifier: Apache-2.0
#include "tile/align.h"

#include "base/integer.h"

namespace tilescope::tile {

bool fills_transactions(const TileSpace& space, std::size_t axis, std::int64_t extent, base::Bytes transaction) {
  if (extent >= space.axes[axis].extent) return true;
  for (std::size_t i = 0; i < space.operand_count(); ++i) {
    const Operand& o = space.operand(i);
    if (o.dims.empty()) continue;
    for (const expr::Term& t : o.dims.back().terms)
      if (t.axis == static_cast<int>(axis) && extent * o.element.n % transaction.n != 0) return false;
  }
  return true;
}

std::int64_t bank_padding(std::int64_t row, std::int64_t read_width, std::int64_t banks, std::int64_t bank_elements) {
  const std::int64_t period = banks * bank_elements;
  return (period - row % period + bank_elements * base::ceil_div(read_width, bank_elements)) % period;
}

}  // namespace tilescope::tile

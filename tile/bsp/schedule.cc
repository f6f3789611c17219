// SPDX-License-Identifier: Apache-2.0
#include "tile/bsp/schedule.h"

#include <algorithm>

#include "base/integer.h"

namespace tilescope::tile {

using base::ceil_div;

std::int64_t BspStage::cores() const {
  std::int64_t n = 1;
  for (const std::int64_t g : grid) n *= g;
  return n;
}

std::int64_t BspStage::sharing(const Operand& operand) const {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < grid.size(); ++a)
    if (!operand.uses(static_cast<int>(a))) n *= grid[a];
  return n;
}

std::int64_t BspStage::part(std::size_t axis) const { return ceil_div(space->axes[axis].extent, grid[axis]); }

std::int64_t BspStage::slices(std::size_t axis) const {
  std::int64_t n = 1;
  for (const OperandDataflow& m : dataflow)
    if (m.how == Dataflow::kShift && m.axis == static_cast<int>(axis)) n = std::max(n, m.ring);
  return n;
}

std::int64_t BspStage::blocks_of_slice(std::size_t axis) const {
  return ceil_div(ceil_div(part(axis), slices(axis)), block[axis]);
}

std::int64_t BspStage::steps() const {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < grid.size(); ++a) n *= blocks(a);
  return n;
}

std::int64_t BspStage::core_stride(std::size_t axis) const {
  std::int64_t stride = 1;
  for (auto a = core_order.rbegin(); a != core_order.rend() && static_cast<std::size_t>(*a) != axis; ++a)
    stride *= grid[static_cast<std::size_t>(*a)];
  return stride;
}

}  // namespace tilescope::tile

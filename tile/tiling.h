// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a stage is divided, for any kind of machine: the extents of its tiles at the levels of the hierarchy (ROLLER
// OSDI'22, section 3.1) and the steps of its reduction.

#include <cstdint>
#include <memory>

#include "tile/space.h"

namespace tilescope::tile {

struct Tiling {
  std::shared_ptr<const TileSpace> space;
  Extents block;   // per tile axis: iterations of one block; for a reduced axis, those that it caches per step
  Extents thread;  // per tile axis: results that one thread keeps in registers; for a reduced axis, the iterations of a
                   // register tile
  Extents split;   // per tile axis: number of parts into which blocks split a reduction; 1 for a spatial axis
  base::FixedVector<int, kMaxAxes> reduction_order;  // reduced axes, outermost loop first

  std::int64_t blocks_along(std::size_t spatial_axis) const;
  std::int64_t blocks() const;
  // Reduction steps of one block.
  std::int64_t steps() const;
  // Whether blocks share a reduction.
  bool is_split() const;
  // Iterations of a reduced axis in one step of one part.
  std::int64_t iterations_along(std::size_t axis) const;

  bool operator==(const Tiling& o) const {
    return block == o.block && thread == o.thread && split == o.split && reduction_order == o.reduction_order &&
           (space == o.space || *space == *o.space);
  }
};

}  // namespace tilescope::tile

#pragma once
// How a stage is cut, whatever kind of machine runs it: the extents of its tiles at the levels of the hierarchy
// (ROLLER OSDI'22, section 3.1) and the steps of its reduction.

#include <cstdint>
#include <memory>

#include "tile/space.h"

namespace tilescope::tile {

struct Tiling {
  std::shared_ptr<const TileSpace> space;
  Extents block;   // per tile axis: what one block computes, and for a reduced axis what it stages per step
  Extents thread;  // per tile axis: what one thread keeps in registers; of a reduced axis, the points of a window
  Extents split;   // per tile axis: in how many parts blocks share a reduction; 1 of a spatial axis
  base::FixedVector<int, kMaxAxes> order;  // reduced axes, outermost loop first

  std::int64_t blocks_along(std::size_t spatial_axis) const;
  std::int64_t blocks() const;
  // Reduction steps of one block.
  std::int64_t steps() const;
  // Points of the reduction that one thread walks through in a step, for each of its results.
  double points_per_step() const;
  // Points of a reduced axis in one step of one part.
  std::int64_t points_along(std::size_t axis) const;
  // Windows that one thread walks through in a step.
  double windows_per_step() const;
};

}  // namespace tilescope::tile

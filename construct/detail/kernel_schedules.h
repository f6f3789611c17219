// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules of a stage whose tile is given by the stages behind it in its kernel.

#include <cstdint>
#include <memory>
#include <vector>

#include "construct/detail/layout.h"
#include "construct/detail/tiles.h"
#include "tile/program.h"

namespace tilescope::construct {

// What the kernel asks of a stage.
struct StageRequest {
  std::shared_ptr<const tile::TileSpace> space;  // loops one by one
  tile::Extents tile;                            // along spatial axes, at least
  std::int64_t threads = 1;                      // of a block; the stage has a part of them
  std::vector<bool> kept;                        // by input: an earlier stage of the kernel left it in the scratchpad
  std::vector<tile::MicroKernel> matrix;         // instructions that may multiply the stage
  // Of a stage that is carried on: along which reduced axis, so far in a step.
  std::optional<std::size_t> carried = {};
  std::int64_t step = 1;
  // For a stage in a loop with a ring (tile/loop_ring.h): the steps of the loop whose tiles a block holds; and the axis
  // along which a stage that is not carried goes with the loop.
  std::int64_t loop_stages = 1;
  std::optional<std::size_t> stepped = {};
  bool whole_rows = false;  // each warp of a matrix instruction has all columns of its rows
};

// Programs whose tile covers what is asked, and hardly more: threads along every axis by powers of two, from the
// innermost on; of a reduction also shared by powers of two of them, and, where operands are reused, over every split
// of the threads among the axes, with tiles of operands in the scratchpad; or warps of a matrix instruction likewise.
std::vector<tile::StageProgram> kernel_schedules(const StageRequest& request, const GrowthLimits& limits,
                                                 const LayoutRules& rules);

}  // namespace tilescope::construct

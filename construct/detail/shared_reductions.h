// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs whose threads share a reduction (tile/shared_reduction.h): for stages that have fewer results than the chip
// has threads, or whose rows in memory run along what is reduced, so that neighbouring threads read neighbours.

#include <memory>
#include <vector>

#include "arch/spec.h"
#include "construct/detail/tiles.h"
#include "tile/program.h"

namespace tilescope::construct {

// Blocks of one warp and of four, eight, ... of them, in which every power of two of threads shares the longest reduced
// axis; each thread reads its operands directly, as widely as rows allow. Where blocks are fewer than cores, they share
// the axis too. None where neither reason holds; not all of them fit the chip.
std::vector<tile::StageProgram> sharing_programs(const std::shared_ptr<const tile::TileSpace>& space,
                                                 const GrowthLimits& limits, const arch::ArchSpec& a);

}  // namespace tilescope::construct

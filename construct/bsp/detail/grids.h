// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grids of cores for a stage: into how many parts every tile axis is cut.

#include <cstdint>
#include <vector>

#include "arch/spec.h"
#include "tile/space.h"

namespace tilescope::construct::bsp {

// What parts of an axis are multiples of, so that no instruction computes for nothing (ROLLER's rule 1): columns or
// products of the matrix unit, a vector of all workers; one element of an axis that is not twice as long.
std::int64_t unit_of(const tile::TileSpace& space, const arch::ComputeSpec& instruction, std::size_t axis);

// The grids that T10's published filters leave (SOSP'24, section 4.3): most cores work, and little is computed beyond
// the operator's end. `published` keeps them as strict as they are; else looser ones add further grids, of which the
// axes with the most are thinned out where they are too many. All grids where the filters leave none.
std::vector<tile::Extents> list_grids(const tile::TileSpace& space, const arch::ComputeSpec& instruction,
                                      std::int64_t cores, bool published);

}  // namespace tilescope::construct::bsp

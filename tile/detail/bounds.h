// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds of the numbers in a program document: far beyond any chip, and small enough that no product which is taken of
// a program later exceeds 64 bits. Counted in floating point, so that counting them cannot wrap.

#include "base/diagnostics.h"
#include "tile/program.h"

namespace tilescope::tile {

// Whether a mapping and reduction steps stay within bounds; an error at the mapping or the tiles for each that does
// not.
bool tile_in_bounds(const TileSpace& space, const base::FixedVector<AxisMapping, kMaxAxes>& mapping,
                    const Extents& reduction_threads, const Extents& step, base::Position mapping_at,
                    base::Position tiles_at, base::Diagnostics& diags);

// The same of data tiles with their padding.
bool padding_in_bounds(const StageProgram& p, base::Position padding_at, base::Diagnostics& diags);

}  // namespace tilescope::tile

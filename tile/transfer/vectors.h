// SPDX-License-Identifier: Apache-2.0
#pragma once
// Number of elements in one access of one thread.

#include <cstdint>

#include "tile/program.h"

namespace tilescope::tile {

// The greatest power of two of elements, at most `max_vector` bytes, that divides the operand's cached row (its
// contiguous run in memory and its padding), so that no access straddles two rows.
std::int64_t widest_vector(const Operand& operand, const Extents& tile, std::int64_t padding, base::Bytes max_vector);

// The default vector of an operand in elements. A cached tile is copied in its own order, padding included. A direct
// access covers at most the contiguous elements of one thread.
std::int64_t default_vector(const StageProgram& p, std::size_t operand, base::Bytes max_vector);

}  // namespace tilescope::tile

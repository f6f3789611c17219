// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many elements one access of one thread takes.

#include <cstdint>

#include "tile/program.h"

namespace tilescope::tile {

// The widest power of two of elements, at most `max_vector`, that divides the operand's cached row (its contiguous run
// in memory and its padding), so that no access straddles two rows.
std::int64_t widest_vector(const Operand& operand, const Extents& tile, std::int64_t padding, base::Bytes max_vector);

// The vector of an operand of which nothing else is said: a cached tile is copied in its own order, padding included;
// what is read or written directly moves as far as one thread's neighbours go.
std::int64_t default_vector(const StageProgram& p, std::size_t operand, base::Bytes max_vector);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pieces of a tile that the lanes of the first warp copy together: where they lie in memory and in the scratchpad.

#include <cstdint>

#include "model/simt/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

// The first warp's access to its first pieces of a tile that threads move together, which lies row by row.
AccessPattern pieces_in_rows(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes element);

// The first warp's write of its first pieces of a cooperative copy.
AccessPattern scratchpad_write(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// The first warp's reads from memory of its first pieces of a cooperative copy, from where its first one lies.
AccessPattern copied_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

}  // namespace tilescope::model

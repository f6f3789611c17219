#pragma once
// How the lanes of a warp read the fragments of a matrix instruction from the scratchpad, and store its results.

#include "model/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

struct MatrixRead {
  WarpAccess access;    // the first of the first warp
  double accesses = 0;  // of one warp, for one reduction step
};

// By the instruction itself, a core matrix an access, where it takes its factors from the scratchpad: the first factor
// once and the second one once for all warps that execute it. Else as tile/fragment_read.h says, rows that lanes name
// or every lane's own elements. Ignores: where the warp's tile begins, which shifts all lanes alike, and what further
// elements of a lane do to the banks.
MatrixRead matrix_read(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access);

// A warp's store of its first results to the output's own memory, from its first element.
WarpAccess matrix_store(const tile::StageProgram& p, std::int64_t warp);

}  // namespace tilescope::model

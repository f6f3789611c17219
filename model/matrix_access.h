#pragma once
// How the lanes of a warp read the fragments of a matrix instruction from the scratchpad, and store its results.

#include <optional>

#include "model/warp_access.h"
#include "tile/program.h"

namespace tilescope::model {

struct MatrixRead {
  WarpAccess access;    // the first of the first warp
  double accesses = 0;  // of one warp, for one reduction step
};

// By the instruction itself, a core matrix an access, where it takes its factors from the scratchpad: the first factor
// once and the second one once for all warps that execute it. By PTX's ldmatrix where 16 bytes of the staged rows lie
// side by side along k, or, of elements of two bytes, along rows or columns; else every lane reads element by element.
// Nothing where the fragments are not those of PTX's mma.m16n8 or wgmma.m64. Ignores: where the warp's tile begins,
// which shifts all lanes alike.
std::optional<MatrixRead> matrix_read(const tile::StageProgram& p, std::size_t operand);

// A warp's store of its first results to the output's own memory: of eight rows neighbouring columns, from its first
// element. Nothing likewise.
std::optional<WarpAccess> matrix_store(const tile::StageProgram& p);

}  // namespace tilescope::model

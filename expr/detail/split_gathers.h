// SPDX-License-Identifier: Apache-2.0
#pragma once
// A read with a coordinate from a table, as a stage of its own: `C[m,n] +=! A[T[m],k] * B[k,n]` becomes
// `C_A[m,k] = A[T[m],k]; C[m,n] +=! C_A[m,k] * B[k,n]`.
//
// A stage that gathers reads its inputs from memory, element by element, so a product would have neither tiles nor
// matrix instructions. Stages that reduce nothing, or reduce the read alone (`O[i,j] +=! E[T[i,k],j]`), have no use of
// either and stay.

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "expr/parse.h"

namespace tilescope::expr {

struct SplitGathers {
  std::vector<ParsedStage> stages;
  std::vector<bool> changed;       // by stage: the text is not the user's
  std::vector<std::string> notes;  // one for each new stage
};

// The stages with those reads split off. A read that uses no axis cannot be: an error goes to `diags` where it stands.
SplitGathers split_gathers(const std::vector<ParsedStage>& stages, base::Diagnostics& diags);

}  // namespace tilescope::expr

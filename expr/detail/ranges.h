// SPDX-License-Identifier: Apache-2.0
#pragma once
// The second half of inference: the size of every axis, by the rules that expr/infer.h states.

#include "expr/detail/resolve.h"

namespace tilescope::expr {

// Sets every axis size of the draft, or reports the axes that no rule gives a size and the contradictions.
bool find_ranges(const Problem& problem, Draft& draft, base::Diagnostics& diags);

}  // namespace tilescope::expr

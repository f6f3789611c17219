// SPDX-License-Identifier: Apache-2.0
#pragma once
// Levels that a file adds to the chip that it extends: `after: l2` or `before: l2` says between which.

#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::arch {

// Moves the levels of `over` that say `after` or `before` to their places among those of `under`. Errors where such a
// key names no level, stands beside the other one, or is of a level that `under` has already.
void insert_new_levels(base::Value& under, base::Value& over, base::Diagnostics& diags);

// Errors at `after` and `before` in a file that extends nothing: its levels stand as they are written.
void refuse_neighbours(base::Value& chip, base::Diagnostics& diags);

}  // namespace tilescope::arch

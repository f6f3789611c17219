// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `tilescope sensitivity --json` prints, for the page of the sweep.

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// The documents of the files, as they are. Nullopt after errors: a file is no such document, or has an axis that the
// sweep lacks.
std::optional<base::List> sensitivities_of(const std::vector<std::string>& files, const StoredSweep& sweep,
                                           base::Diagnostics& diags);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which sweep of a store is meant.

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// The sweep of that title, or the only sweep of the store if the title is empty; nullopt after an error. `path` is the
// store's, for messages.
std::optional<StoredSweep> choose_sweep(const Store& store, const std::string& path, const std::string& title,
                                        base::Diagnostics& diags);

}  // namespace tilescope::experiments

#pragma once
// Which sweep of a store a command is about.

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "experiments/store.h"

namespace tilescope::cli {

// The sweep of that title, or the store's only one where the title is empty. Nothing after an error.
std::optional<experiments::StoredSweep> chosen_sweep(const experiments::Store& store, const std::string& store_path,
                                                     const std::string& title, base::Diagnostics& diags);

}  // namespace tilescope::cli

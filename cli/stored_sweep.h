// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selects the sweep of a store that a command works on.

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::cli {

// STORE, and the title of one of its sweeps.
struct StoredSweepOptions {
  std::string store, title;

  void add_to(CLI::App& command);
};

// The sweep of that title, or the store's only sweep if the title is empty; nullopt after an error.
std::optional<experiments::StoredSweep> chosen_sweep(const experiments::Store& store, const StoredSweepOptions& options,
                                                     base::Diagnostics& diags);

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which sweep of a store a command is about.

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::cli {

// STORE, and which of its sweeps.
struct StoredSweepOptions {
  std::string store, title;

  void add_to(CLI::App& command);
};

// The sweep of that title, or the store's only one where the title is empty. Nothing after an error.
std::optional<experiments::StoredSweep> chosen_sweep(const experiments::Store& store, const StoredSweepOptions& options,
                                                     base::Diagnostics& diags);

}  // namespace tilescope::cli

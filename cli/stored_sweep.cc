// SPDX-License-Identifier: Apache-2.0
#include "cli/stored_sweep.h"

#include "cli/usage.h"
#include "experiments/store/choose.h"

namespace tilescope::cli {

using experiments::StoredSweep;

void StoredSweepOptions::add_to(CLI::App& command) {
  command.add_option("STORE", store, "The store of a sweep")->required()->check(some_text());
  command.add_option("--sweep", title, "Its title, where the store has several")->check(some_text());
}

std::optional<StoredSweep> chosen_sweep(const experiments::Store& store, const StoredSweepOptions& options,
                                        base::Diagnostics& diags) {
  return experiments::choose_sweep(store, options.store, options.title, diags);
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a sweep whose file is read already; for the .cc files of experiments/ alone.

#include <functional>
#include <optional>

#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/sweep.h"

namespace tilescope::experiments {

// Runs a sweep as sweep() does; `spec` is null after errors, to which those of the request are added.
std::optional<SweepRun> run_sweep(const SweepSpec* spec, const SweepRequest& request, const std::function<bool()>& stop,
                                  const std::function<void(const SweepProgress&)>& tell, base::Diagnostics& diags);

}  // namespace tilescope::experiments

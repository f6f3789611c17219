// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope explain --network`: what bounds a network on a chip, and which numbers of the chip its time depends on.

#include <optional>
#include <vector>

#include "api/common/progress.h"
#include "api/explain.h"
#include "api/network/network.h"
#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::api {

// Explains (api/explain.h) the groups of nodes that share kernels on the chip, each different one once with how often
// it occurs. `constructing` counts nodes, `explaining` changes. Nullopt after errors in the network.
std::optional<std::vector<ExplainedOperator>> explain_network(const NetworkSource& source, const arch::ArchSpec& a,
                                                              const LoadChanged& load, int jobs,
                                                              const Progress& constructing, const Progress& explaining,
                                                              base::Diagnostics& diags);

}  // namespace tilescope::api

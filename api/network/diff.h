// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope diff --network`: how the time and the energy of a network differ between two chips.

#include <optional>

#include "api/common/progress.h"
#include "api/diff.h"
#include "api/network/network.h"
#include "arch/spec.h"
#include "base/choices.h"
#include "base/diagnostics.h"

namespace tilescope::api {

struct NetworkDiffHow {
  base::Fuse fuse = base::Fuse::kAll;
  int jobs = 0;
  Progress left, right;  // of nodes
};

// The network with its own groups and programs on each chip, as `network --arch` times it. Groups of the two chips
// belong together where they share nodes (api/common/time_changes.h). Nullopt after errors in the network, or where a
// chip does not hold it.
std::optional<WorkDifference> diff_network(const NetworkSource& source, const arch::ArchSpec& left,
                                           const arch::ArchSpec& right, const NetworkDiffHow& how,
                                           base::Diagnostics& diags);

}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The networks among a sweep's workloads, and which operators are of which. For the .cc files of experiments/ alone.

#include <string>
#include <vector>

#include "experiments/store/store.h"

namespace tilescope::experiments {

struct SweptNetwork {
  std::string name;      // as the names of its operators begin: with its sizes where the sweep lists it several times
  std::vector<bool> of;  // whether it has the operator, by workload
};

// In the order of the sweep's file.
std::vector<SweptNetwork> networks_of(const StoredSweep& sweep);

}  // namespace tilescope::experiments

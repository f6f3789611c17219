// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equal runs in a list: layers of a network, which a picture draws once.

#include <vector>

namespace tilescope::api {

// The items `first` to `last` stand for `times` copies of themselves, one behind the other.
struct EqualRuns {
  int first = 0, last = 0, times = 1;
};

// Runs of equal items, from the longest on, so that as many items as possible are copies; in order, without overlap.
// Only items from `begin` on are compared.
std::vector<EqualRuns> equal_runs(const std::vector<int>& items, int begin);

}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a chip's file says when its DRAM is refreshed.

#include "arch/spec.h"

namespace tilescope::arch {

// Its timing says so, and no library stands in for its channels.
inline bool counts_refreshes(const DramLevel& level) {
  const auto refi = level.timing.find("refi");
  return !level.model && refi != level.timing.end() && refi->second.n > 0;
}

}  // namespace tilescope::arch

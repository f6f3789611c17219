// SPDX-License-Identifier: Apache-2.0
#pragma once
// How often a DRAM is refreshed, by the model.

#include <cstdint>

#include "arch/dram_refresh.h"
#include "arch/spec.h"

namespace tilescope::model {

// Refreshes of all channels in a microsecond: each rank, or each of its banks, once in refi. 0 where the file does not
// say when they are due.
inline double refreshes_per_us(const arch::DramLevel& dram) {
  if (!arch::counts_refreshes(dram)) return 0;
  const double refi_us = static_cast<double>(dram.timing.at("refi").n) / static_cast<double>(dram.clock.n) * 1e6;
  const std::int64_t of_rank = dram.refresh == arch::Refresh::kPerBank ? dram.banks : 1;
  return static_cast<double>(dram.channels * dram.ranks * of_rank) / refi_us;
}

}  // namespace tilescope::model

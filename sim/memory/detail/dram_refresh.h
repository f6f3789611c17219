// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refreshes a DRAM channel: ranks whole, or their banks in turn.
//
// Ignores: postponed refreshes.

#include <cstdint>
#include <vector>

#include "sim/memory/detail/dram_banks.h"
#include "sim/memory/detail/dram_scheduler.h"

namespace tilescope::sim {

class DramRefresh {
 public:
  DramRefresh(const DramSpec& spec, DramBanks& banks, DramScheduler& scheduler);

  // Does all refreshes that are due by now; returns whether there were any. `log`: null where nothing is logged.
  bool run(Clock now, DramLog* log);
  // Refreshes that it has done, and those that are due by then.
  std::int64_t count(Clock until) const;

 private:
  struct Rank {
    Clock due{};
    std::int64_t refreshes = 0;  // so far, of one bank each where banks are refreshed one by one
  };

  // Each returns when the refresh begins.
  Clock refresh_rank(std::size_t rank, Clock at);
  Clock refresh_bank(std::size_t rank, Clock at);
  Clock interval(const Rank& rank) const;
  void skip_idle(Rank& rank, std::int64_t before, Clock now) const;

  const DramSpec& spec_;
  DramBanks& banks_;
  DramScheduler& scheduler_;
  std::vector<Rank> ranks_;
};

}  // namespace tilescope::sim

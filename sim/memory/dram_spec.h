// SPDX-License-Identifier: Apache-2.0
#pragma once
// One channel of DRAM as its controller wants it, read from a chip's level.

#include <cstdint>
#include <limits>

#include "arch/spec.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

// A request is looked at the clock after it arrives; the simulators of experiments/studies/dram_agreement differ there
// by a clock each way.
inline constexpr Clock kDramHandshake = 1_nck;

struct DramSpec {
  // Whose controller and command buses are the same. Each has ranks, banks and a data bus of its own.
  std::int64_t pseudo_channels = 1;
  std::int64_t ranks = 1, groups = 1;  // of a pseudo-channel; groups of a rank
  std::int64_t banks = 1;              // of a rank, in all its groups; neighbours in one group
  bool rows = false;                   // whether rows are known; without, every access is a hit
  bool row_bus = false;                // row commands have a bus of their own; else one command fits a clock
  Clock activate_command = 1_nck;      // that an activate holds its bus
  bool refreshes_banks = false;        // one by one, each once in refi; else all of a rank at a time
  // Of the controller; 0 and kNoBound: none.
  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();
  arch::RequestQueues queues{};
  std::int64_t queue_depth = kNoBound;  // reads, and as many writes, that it takes; or requests of one queue
  // Requests that each bank holds beyond those that the controller takes; without, it takes no more until some are
  // done.
  std::int64_t per_bank_queue_depth = 0;
  std::int64_t write_threshold = 0;     // writes that wait although the banks rest
  Clock write_idle{};                   // after which they go too
  std::int64_t write_high = 0;          // writes that wait as it turns to them; 0: no watermarks
  std::int64_t write_low = 0;           // and as it turns back
  std::int64_t row_hit_cap = kNoBound;  // columns of an open row before an older request may close it
  Clock max_age = Clock::max();         // of a request that others overtake
  arch::PagePolicy page_policy{};
  Clock page_timeout{};
  DramTimes t;

  // Where a pseudo-channel, of all that a chip has, lies: its controller, and where its banks begin there.
  std::int64_t controller_of(std::int64_t channel) const { return channel / pseudo_channels; }
  std::int64_t first_bank_of(std::int64_t channel) const { return channel % pseudo_channels * ranks * banks; }

  // Whether reads and writes stand in queues of their own.
  bool parts_writes() const { return queues == arch::RequestQueues::kReadWrite; }
  bool queues_by_bank() const { return queues == arch::RequestQueues::kPerBank; }

  // Between two bursts that suit each other best.
  Clock clocks_per_burst() const { return t.ccd_s > t.burst ? t.ccd_s : t.burst; }
};

// One controller's channel of a level of kind dram. Where its banks are not known, one stands for all and rows are not.
DramSpec dram_spec(const arch::DramLevel& dram);

// What a lone read of so many bursts takes that finds another row open.
Clock conflict_clocks(const DramSpec& spec, std::int64_t bursts);

}  // namespace tilescope::sim

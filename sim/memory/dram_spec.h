// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters of one DRAM channel and its controller, read from a chip's DRAM level.

#include <cstdint>
#include <limits>

#include "arch/spec.h"
#include "sim/memory/dram_timing.h"

namespace tilescope::sim {

// The controller looks at a request one clock after its arrival; the simulators of experiments/studies/dram_agreement
// differ there by a clock in either direction.
inline constexpr Clock kDramHandshake = 1_nck;

struct DramSpec {
  // Pseudo-channels that share a controller and its command buses. Each has ranks, banks and a data bus of its own.
  std::int64_t pseudo_channels = 1;
  std::int64_t ranks = 1, groups = 1;  // ranks of a pseudo-channel; bank groups of a rank
  std::int64_t banks = 1;              // of a rank, over all its groups; neighbours share a group
  bool rows = false;                   // whether rows are known; if not, every access is a row hit
  bool row_bus = false;                // row commands have a bus of their own; else one command fits a clock
  Clock activate_command = 1_nck;      // time for which an activate occupies its bus
  bool refreshes_banks = false;  // banks are refreshed one by one, each once per refi; else a whole rank at a time
  // Parameters of the controller; 0 and kNoBound: no such limit.
  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();
  arch::RequestQueues queues{};
  std::int64_t queue_depth = kNoBound;  // capacity for reads, and as much for writes; or for requests of one queue
  // Capacity of each bank's queue in addition to `queue_depth`; if 0, requests at the banks count against
  // `queue_depth` until they are done.
  std::int64_t per_bank_queue_depth = 0;
  std::int64_t write_threshold = 0;     // writes that may wait although the banks are idle
  Clock write_idle{};                   // idle time after which these writes are served too
  std::int64_t write_high = 0;          // waiting writes at which the controller turns to writes; 0: no watermarks
  std::int64_t write_low = 0;           // waiting writes at which it turns back to reads
  std::int64_t row_hit_cap = kNoBound;  // column commands of an open row before an older request may close it
  Clock max_age = Clock::max();         // maximum age of a request that others overtake
  arch::PagePolicy page_policy{};
  Clock page_timeout{};
  DramTimes t;

  // The controller of a pseudo-channel, numbered over the whole chip, and the number of its first bank there.
  std::int64_t controller_of(std::int64_t channel) const { return channel / pseudo_channels; }
  std::int64_t first_bank_of(std::int64_t channel) const { return channel % pseudo_channels * ranks * banks; }

  // Whether reads and writes have separate queues.
  bool parts_writes() const { return queues == arch::RequestQueues::kReadWrite; }
  bool queues_by_bank() const { return queues == arch::RequestQueues::kPerBank; }

  // Minimum time between two bursts, in the best case.
  Clock clocks_per_burst() const { return t.ccd_s > t.burst ? t.ccd_s : t.burst; }
};

// The channel of one controller of a DRAM level. Where its banks are unknown, one bank represents all of them and rows
// are unknown.
DramSpec dram_spec(const arch::DramLevel& dram);

// Time that a lone read of `bursts` bursts takes when another row is open.
Clock conflict_clocks(const DramSpec& spec, std::int64_t bursts);

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The DRAM behind the last cache as the caches see it: they hand over requests, ask when it next has something to
// decide, let it decide, and take what is served. Our channels are one implementation
// (sim/memory/dram_channels.h), a user's memory is another (sim/memory/external_dram.h).

#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "sim/memory/dram.h"

namespace tilescope::sim {

// Of a line, the first byte's lowest. Bytes of lines longer than 128 B are told apart in 128 equal parts.
inline constexpr std::int64_t kLineParts = 128;
using LineParts = std::bitset<kLineParts>;

// One request to the DRAM: bursts of one line of the cache before it.
struct DramAccess {
  DramRequest request;
  std::int64_t channel = 0;       // of those with a data bus of their own, as our address map has it
  std::int64_t line_address = 0;  // bytes
  std::uint32_t sectors = 0;      // of the line, that bursts are asked of
  std::int64_t sector_bytes = 0;  // of each
  LineParts parts = {};           // of the line, that bursts are asked of in place of the sectors; none: the sectors
  std::int64_t part_bytes = 0;    // of each
};

class DramModel {
 public:
  static constexpr Clock kNever = Clock::max();
  // Is handed the log of a controller that has just run.
  using Watcher = std::function<void(std::size_t controller, DramLog& log)>;

  virtual ~DramModel() = default;

  // Takes a request; returns when its controller next has something to decide.
  virtual Clock push(const DramAccess& access) = 0;
  // Decides all that is due before `until`; what is served by that is added to `served`.
  virtual void run(Clock until, std::vector<DramServed>& served) = 0;
  // When it next has something to decide; kNever while it has nothing to do.
  virtual Clock next() const = 0;
  // Whether it tells what is done before `until` only by the next call: it answers in SystemC's time, and turns run
  // ahead of that.
  virtual bool answers_late() const { return false; }
  // Writes of a channel that are not served.
  virtual std::int64_t waiting_writes(std::int64_t channel) const = 0;
  // From now on tells what it does, where it knows.
  virtual void watch(Watcher watcher) = 0;
};

// Makes the DRAM of one simulation.
using DramFactory = std::function<std::unique_ptr<DramModel>()>;

}  // namespace tilescope::sim

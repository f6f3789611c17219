// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interface of the DRAM behind the last cache. The caches push requests, ask for the time of the next decision, let the
// model decide, and take the served requests. Tilescope's own channels are one implementation
// (sim/memory/dram_channels.h), a user's memory is another (sim/memory/external_dram.h).

#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "sim/memory/dram_request.h"

namespace tilescope::sim {

// One bit for each byte of a line, the first byte's lowest. A line longer than 128 B has one bit for each of 128 equal
// parts.
inline constexpr std::int64_t kLineParts = 128;
using LineParts = std::bitset<kLineParts>;

// One request to the DRAM: bursts of one line of the cache before it.
struct DramAccess {
  DramRequest request;
  std::int64_t channel = 0;       // among those with a data bus of their own, by Tilescope's address map
  std::int64_t line_address = 0;  // bytes
  std::uint32_t sectors = 0;      // of the line, to access
  std::int64_t sector_bytes = 0;  // of each sector
  LineParts parts = {};           // of the line, to access instead of `sectors`; none: `sectors` counts
  std::int64_t part_bytes = 0;    // of each part
};

class DramModel {
 public:
  static constexpr Clock kNever = Clock::max();
  // Receives the log of a controller that has just run.
  using Watcher = std::function<void(std::size_t controller, DramLog& log)>;

  virtual ~DramModel() = default;

  // Takes a request; returns the time of its controller's next decision.
  virtual Clock push(const DramAccess& access) = 0;
  // Makes all decisions that are due before `until` and adds the requests served by them to `served`.
  virtual void run(Clock until, std::vector<DramServed>& served) = 0;
  // Time of the next decision; kNever while there is nothing to do.
  virtual Clock next() const = 0;
  // Whether the model reports what is done before `until` only in the next call, because it answers in SystemC's time
  // and turns run ahead of that time.
  virtual bool answers_late() const { return false; }
  // Number of writes at a channel's controller that are not served yet.
  virtual std::int64_t waiting_writes(std::int64_t channel) const = 0;
  // Refreshes that are due by then since time zero; 0 where the model does not tell.
  virtual std::int64_t refreshes(Clock /*until*/) const { return 0; }
  // From now on passes logs to the watcher, where the model has them.
  virtual void watch(Watcher watcher) = 0;
};

// Makes the DRAM of one simulation.
using DramFactory = std::function<std::unique_ptr<DramModel>()>;

}  // namespace tilescope::sim

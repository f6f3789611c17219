// SPDX-License-Identifier: Apache-2.0
#pragma once
// What lies behind the cores, as they see it: turn by turn it takes their requests and tells when data can be used. Our
// link, caches and channels are one (sim/memory/detail/device_memory.h), a user's module is another
// (sim/memory/detail/foreign_caches.h).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/common/cycle.h"
#include "sim/memory/detail/written_parts.h"
#include "sim/statistics.h"

namespace tilescope::sim {

struct MemoryRequest {
  int core = 0;
  int ticket = 0;  // the core's, given back with the reply
  bool write = false;
  std::int64_t line = 0;
  std::uint32_t sectors = 0;
  Cycle at{};
  Written written = {};  // of a write that writes a part of some sector
};

struct MemoryReply {
  int core = 0;
  int ticket = 0;
  Cycle at{};  // the data can be used; the core knows that a write is accepted
  Stall from = Stall::kL2;
};

class MemorySystem {
 public:
  virtual ~MemorySystem() = default;

  // A turn, which ends at `end`: takes what is asked in it, in the order in which it is handed over, and adds replies
  // as their times are known.
  virtual void run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) = 0;
  // When it next has something to decide.
  virtual std::optional<Cycle> next() const = 0;
  // No core hears of a request sooner than this after it was made.
  virtual Cycle min_latency() const = 0;
};

}  // namespace tilescope::sim

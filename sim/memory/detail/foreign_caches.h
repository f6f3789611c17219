// SPDX-License-Identifier: Apache-2.0
#pragma once
// A user's caches and memory behind the cores. It is asked for the sectors of a line that a core lacks and for what a
// core writes of one: a request of each run of neighbouring bytes.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/detail/memory_system.h"
#include "sim/memory/foreign_memory.h"

namespace tilescope::sim {

struct MemorySpec;

class ForeignCaches final : public MemorySystem {
 public:
  // `spec` is the chip's, `caches` the number of the device's. Turns are as long as the foreign memory's lookahead
  // allows; where that is not known, as those of our caches, or a cycle where it answers late.
  ForeignCaches(const BehindCores& behind, const MemorySpec& spec, std::size_t caches);

  // Throws what ForeignRequests does. Of a memory that answers late, cores hear at the end of the turn of what lies
  // before that.
  void run(std::span<const MemoryRequest> requests, Cycle end, std::vector<MemoryReply>& replies) override;
  std::optional<Cycle> next() const override {
    return requests_.waits() || requests_.memory().busy() ? std::optional(requests_.until()) : std::nullopt;
  }
  Cycle min_latency() const override { return turn_; }

 private:
  // What a core asked for.
  struct Access {
    MemoryReply reply;
    int left = 0;  // pieces that are not answered
  };

  void ask(const MemoryRequest& r, Cycle turn_end);

  ForeignRequests<Cycle> requests_;
  LineShape shape_;
  std::size_t caches_;
  Cycle turn_;
  std::vector<Access> accesses_;
  std::vector<std::size_t> free_;  // places of them
  std::vector<ForeignRequests<Cycle>::Answered> answered_;
};

}  // namespace tilescope::sim

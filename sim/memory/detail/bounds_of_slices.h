// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a slice of a cache has room for at a time: requests on their way to it, and lines on their way into it.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sim/common/cycle.h"

namespace tilescope::sim {

// Places for requests, each taken from when a core sends it until the slice has served it. Cores that wait for one get
// it in the order in which they came.
class SliceQueue {
 public:
  explicit SliceQueue(std::int64_t places) : ends_(static_cast<std::size_t>(places)) {}

  // Whether a core that asks then for a place has it; else it waits, and when it is to ask again.
  bool take(int core, Cycle at) {
    if (!waiting_.empty() && waiting_.front() != core) {
      if (std::find(waiting_.begin(), waiting_.end(), core) == waiting_.end()) waiting_.push_back(core);
      return false;
    }
    if (free_at() > at) {
      if (waiting_.empty()) waiting_.push_back(core);
      return false;
    }
    if (!waiting_.empty()) waiting_.pop_front();
    return true;
  }
  // The core that waits longest, which asks again once a place is free.
  std::optional<int> first() const { return waiting_.empty() ? std::nullopt : std::optional(waiting_.front()); }
  // When the next request has a place.
  Cycle free_at() const { return ends_[next_]; }
  // The request that has just been sent will have been served.
  void served(Cycle at) {
    ends_[next_] = at;
    next_ = next_ + 1 == ends_.size() ? 0 : next_ + 1;
  }

 private:
  std::vector<Cycle> ends_;  // of the latest requests, round and round
  std::size_t next_ = 0;
  std::deque<int> waiting_;
};

// A line that a slice misses.
struct MissedLine {
  std::int64_t line = 0;
  std::uint32_t sectors = 0;
  int fill = -1;
  Cycle at{};
};

// Lines under way at a time, miss-status holding registers (Kroft, ISCA 1981). Those beyond wait, first come first
// served; hits pass them. 0 registers: any number.
class SliceMisses {
 public:
  explicit SliceMisses(std::int64_t registers) : bounded_(registers > 0), free_(static_cast<std::size_t>(registers)) {}

  void add(const MissedLine& m) { waiting_.push_back(m); }
  // A line has come; what it took is free from then on.
  void release(Cycle at) {
    if (!bounded_) return;
    free_.push_back(at);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
  }
  // The next line that can be asked for, with when; nothing where none waits or all registers are taken.
  std::optional<MissedLine> take() {
    if (waiting_.empty() || (bounded_ && free_.empty())) return std::nullopt;
    MissedLine m = waiting_.front();
    waiting_.pop_front();
    if (!bounded_) return m;
    m.at = std::max(m.at, free_.front());
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    free_.pop_back();
    return m;
  }

 private:
  bool bounded_;
  std::vector<Cycle> free_;  // since when; a heap, the earliest first
  std::deque<MissedLine> waiting_;
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests that wait in their cores for slices which have room for so many at a time. A core asks for a place for its
// first request when it has one, and again when the slice whose turn it is then has a place. So places are taken in the
// order of times, and none by a request that waits behind another.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/memory/detail/bounds_of_slices.h"
#include "sim/memory/detail/memory_system.h"

namespace tilescope::sim {

class WaitingRequests {
 public:
  WaitingRequests(std::int64_t cores, std::int64_t slices, std::int64_t places)
      : of_core_(static_cast<std::size_t>(cores)), slices_(static_cast<std::size_t>(slices), SliceQueue(places)) {}

  void add(const MemoryRequest& r, std::int64_t slice) {
    std::deque<Waiting>& waiting = of_core_[static_cast<std::size_t>(r.core)];
    waiting.push_back({r, slice});
    if (waiting.size() == 1) ask(r.core, r.at);
  }
  // Hands on each request that has a place before `until`, with when; `serve` returns when its slice has served it.
  template <class Serve>
  void send(Cycle until, Serve serve) {
    while (!asks_.empty() && asks_.top().at < until) {
      const auto [at, number, core] = asks_.top();
      asks_.pop();
      std::deque<Waiting>& waiting = of_core_[static_cast<std::size_t>(core)];
      const Waiting w = waiting.front();
      SliceQueue& queue = slices_[static_cast<std::size_t>(w.slice)];
      if (!queue.take(core, at)) {
        if (queue.first() == core) ask(core, queue.free_at());
        continue;
      }
      queue.served(serve(w.request, at));
      if (const auto first = queue.first()) ask(*first, std::max(at, queue.free_at()));
      waiting.pop_front();
      if (!waiting.empty()) ask(core, std::max(at, waiting.front().request.at));
    }
  }
  // When a core next asks for a place.
  Cycle next() const { return asks_.empty() ? Cycle::max() : asks_.top().at; }

 private:
  struct Waiting {
    MemoryRequest request;
    std::int64_t slice = 0;
  };
  struct Ask {
    Cycle at{};
    std::int64_t number = 0;  // of those that ask then, the first is served first
    int core = 0;
    auto operator<=>(const Ask&) const = default;
  };
  void ask(int core, Cycle at) { asks_.push({at, count_++, core}); }

  std::vector<std::deque<Waiting>> of_core_;
  std::vector<SliceQueue> slices_;
  std::priority_queue<Ask, std::vector<Ask>, std::greater<>> asks_;
  std::int64_t count_ = 0;
};

}  // namespace tilescope::sim

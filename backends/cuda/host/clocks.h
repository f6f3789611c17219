// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector clocks of a block's threads, which learn of each other through mbarriers: for each warp the number of its
// arrivals, for each mbarrier the number of its ended phases. A warp that waits for a phase then knows what happened
// before the arrivals for that phase, and everything that the arriving warps knew.

#include <cstdint>
#include <map>
#include <vector>

namespace tilescope::cuda::host {

class Clocks {
 public:
  // A time of a warp or an mbarrier. A thread knows what happened then if it knows a greater count.
  struct Time {
    std::int32_t of = -1;
    std::uint32_t count = 0;
  };

  // Begins a block of `threads` threads, in warps of `warp` threads.
  void begin_block(std::int64_t threads, std::int64_t warp);
  void add_mbarrier(const void* mbarrier);
  // Whether the block has mbarriers.
  bool active() const { return !mbarriers_.empty(); }
  std::int64_t warps() const { return warps_; }

  Time now(int thread) const { return {thread / lanes_, count(thread, thread / lanes_)}; }
  // The time of the data that the mbarrier's current phase brings.
  Time of_mbarrier(const void* mbarrier) const;
  bool knows(int thread, const Time& t) const { return count(thread, t.of) > t.count; }

  // come(): the thread reaches an arrival of its warp. arrive(): one thread of the warp then arrives for all.
  void come(int thread);
  void arrive(int thread, const void* mbarrier);
  void end_phase(const void* mbarrier);
  void await(int thread, const void* mbarrier);
  // All threads know everything that has happened.
  void sync();

 private:
  using Counts = std::vector<std::uint32_t>;
  struct Mbarrier {
    std::int32_t number = 0;
    Counts arriving, over;  // what the arrived warps know; what a wait for the last ended phase teaches
  };
  std::uint32_t count(int thread, std::int32_t of) const {
    return known_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(of)];
  }
  static void join(Counts& to, const Counts& more);

  int lanes_ = 1;  // of a warp
  std::int64_t warps_ = 0;
  std::vector<Counts> known_;  // by thread
  std::map<const void*, Mbarrier> mbarriers_;
};

}  // namespace tilescope::cuda::host

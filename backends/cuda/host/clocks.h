// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the threads of a block know of each other through mbarriers: for each warp, how often it has arrived, and for
// each mbarrier, how many of its phases are over. What happened before an arrival is known to a warp that awaits the
// phase that it was for, and so is what was known to who arrived.

#include <cstdint>
#include <map>
#include <vector>

namespace tilescope::cuda::host {

class Clocks {
 public:
  // A time of a warp or an mbarrier: what happens then is known to those that know a greater count.
  struct Time {
    std::int32_t of = -1;
    std::uint32_t count = 0;
  };

  // Of so many threads, of which `warp` are a warp.
  void begin_block(std::int64_t threads, std::int64_t warp);
  void add_mbarrier(const void* mbarrier);
  // Whether the block has mbarriers.
  bool active() const { return !mbarriers_.empty(); }
  std::int64_t warps() const { return warps_; }

  Time now(int thread) const { return {thread / lanes_, count(thread, thread / lanes_)}; }
  // Of what the mbarrier's phase that is under way brings.
  Time of_mbarrier(const void* mbarrier) const;
  bool knows(int thread, const Time& t) const { return count(thread, t.of) > t.count; }

  // A thread comes to an arrival of its warp; the last one that does arrives for all.
  void come(int thread);
  void arrive(int thread, const void* mbarrier);
  void end_phase(const void* mbarrier);
  void await(int thread, const void* mbarrier);
  // All threads know of all.
  void sync();

 private:
  using Counts = std::vector<std::uint32_t>;
  struct Mbarrier {
    std::int32_t number = 0;
    Counts arriving, over;  // what those know who arrived, and what those will who await
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

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/clocks.h"

#include <algorithm>

namespace tilescope::cuda::host {

void Clocks::begin_block(std::int64_t threads, std::int64_t warp) {
  lanes_ = static_cast<int>(warp);
  warps_ = (threads + warp - 1) / warp;
  known_.assign(static_cast<std::size_t>(threads), Counts(static_cast<std::size_t>(warps_), 0));
  mbarriers_.clear();
}

void Clocks::add_mbarrier(const void* mbarrier) {
  mbarriers_[mbarrier] = {static_cast<std::int32_t>(known_.front().size()), {}, {}};
  for (Counts& k : known_) k.push_back(0);
}

Clocks::Time Clocks::of_mbarrier(const void* mbarrier) const {
  const Mbarrier& s = mbarriers_.at(mbarrier);
  const auto number = static_cast<std::size_t>(s.number);
  return {s.number, number < s.over.size() ? s.over[number] : 0};
}

void Clocks::come(int thread) { ++known_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(thread / lanes_)]; }

void Clocks::arrive(int thread, const void* mbarrier) {
  join(mbarriers_.at(mbarrier).arriving, known_[static_cast<std::size_t>(thread)]);
}

void Clocks::end_phase(const void* mbarrier) {
  Mbarrier& s = mbarriers_.at(mbarrier);
  s.arriving.resize(known_.front().size(), 0);
  ++s.arriving[static_cast<std::size_t>(s.number)];
  s.over = s.arriving;
}

void Clocks::await(int thread, const void* mbarrier) {
  join(known_[static_cast<std::size_t>(thread)], mbarriers_.at(mbarrier).over);
}

void Clocks::sync() {
  Counts all;
  for (const Counts& k : known_) join(all, k);
  for (std::int64_t w = 0; w < warps_; ++w) ++all[static_cast<std::size_t>(w)];
  for (Counts& k : known_) k = all;
}

void Clocks::join(Counts& to, const Counts& more) {
  to.resize(std::max(to.size(), more.size()), 0);
  for (std::size_t i = 0; i < more.size(); ++i) to[i] = std::max(to[i], more[i]);
}

}  // namespace tilescope::cuda::host

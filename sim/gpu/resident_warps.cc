// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/resident_warps.h"

#include <algorithm>

#include "base/check.h"

namespace tilescope::sim {

std::optional<InFlight> Warp::arrived() const {
  InFlight last;
  bool known = true;
  const auto look = [&](const InFlight& f) {
    known = known && f.pending == 0;
    if (f.ready > last.ready) last = f;
  };
  if (state == State::kWaitsForLoads)
    for (std::size_t g = 0; g < loads.size(); ++g)
      if ((waits_for >> g & 1u) != 0) look(loads[g]);
  if (state == State::kWaitsForCopies)
    for (std::int64_t n = copies_begin; n < waits_until; ++n) look(copies[static_cast<std::size_t>(n - copies_begin)]);
  if (!known) return std::nullopt;
  return last;
}

void ResidentWarps::prepare(std::int64_t places, std::int64_t warps_per_block) {
  base::check(events_.empty(), "a core is prepared when nothing runs on it");
  warps_per_block_ = warps_per_block;
  blocks_.assign(static_cast<std::size_t>(places), {});
  warps_.assign(static_cast<std::size_t>(places * warps_per_block), {});
}

std::size_t ResidentWarps::next_place() const {
  const auto free = std::min_element(blocks_.begin(), blocks_.end(), [](const auto& a, const auto& b) {
    return a.resident != b.resident ? b.resident : a.end < b.end;
  });
  base::check(free != blocks_.end() && !free->resident, "a block starts where there is room");
  return static_cast<std::size_t>(free - blocks_.begin());
}

void ResidentWarps::deal_partitions(std::size_t place) {
  for (Warp& w : warps_of(place)) {
    w.partition = next_partition_;
    next_partition_ = (next_partition_ + 1) % partitions_;
  }
}

void ResidentWarps::wake(int warp) {
  Warp& w = warps_[static_cast<std::size_t>(warp)];
  if (w.queued || (w.state != Warp::State::kWaitsForLoads && w.state != Warp::State::kWaitsForCopies)) return;
  if (const std::optional<InFlight> last = w.arrived()) push(w, std::max(last->ready, w.since));
}

void ResidentWarps::wake_waiting(int place, int mbarrier, std::int64_t phase) {
  const auto over = block(place).mbarriers.over(mbarrier, phase);
  if (!over) return;
  for (Warp& w : warps_of(static_cast<std::size_t>(place)))
    if (w.state == Warp::State::kWaitsForMbarrier && !w.queued && w.mbarrier == mbarrier && w.phase == phase)
      push(w, std::max(over->at, w.since));
}

}  // namespace tilescope::sim

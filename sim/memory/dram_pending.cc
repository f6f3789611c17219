// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/detail/dram_pending.h"

namespace tilescope::sim {

std::size_t DramPending::add(const DramRequest& r) {
  if (free_.empty()) {
    free_.push_back(all_.size());
    all_.emplace_back();
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  PendingDramRequest& p = all_[place];
  p = {r, static_cast<std::int32_t>(r.bursts)};
  p.merges = r.write && r.merges;
  p.request.write = r.write && !r.merges;
  return place;
}

void DramPending::share(std::size_t place, std::size_t reader) {
  all_[reader].shared = true;
  sharers_.emplace_back(place, reader);
}

bool DramPending::finish(std::size_t place, Clock done, std::vector<DramServed>& served) {
  PendingDramRequest& p = all_[place];
  DramRequest& r = p.request;
  served.push_back({r.id, r.write, !p.opened, r.bursts, r.arrival, done, p.merges});
  if (p.shared) finish_sharers(place, done, served);
  if (!p.merges) {
    drop(place);
    return false;
  }
  r.write = true;
  r.arrival = done;
  p = {r, static_cast<std::int32_t>(r.bursts)};
  return true;
}

void DramPending::finish_sharers(std::size_t place, Clock done, std::vector<DramServed>& served) {
  std::erase_if(sharers_, [&](const auto& sharer) {
    if (sharer.second != place) return false;
    const DramRequest& s = all_[sharer.first].request;
    served.push_back({s.id, false, true, 0, s.arrival, done});
    drop(sharer.first);
    return true;
  });
}

}  // namespace tilescope::sim

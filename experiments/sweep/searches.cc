// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/searches.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tilescope::experiments {

bool restrict_alike(const construct::Restrictions& a, const construct::Restrictions& b) {
  return a.pads == b.pads && a.block == b.block;
}

SweepSearches::SweepSearches(const std::vector<SweepWorkload>& workloads, std::size_t pool_bytes, bool more_later)
    : workloads_(workloads), more_later_(more_later) {
  for (std::size_t w = 0; w < workloads.size(); ++w)
    pools_.push_back(std::make_unique<Pools>(pool_bytes / workloads.size()));
}

std::size_t SweepSearches::add(const arch::ArchSpec& chip, const construct::Restrictions& restrictions,
                               std::size_t keep) {
  const auto known = std::find_if(searches_.begin(), searches_.end(), [&](const Requested& s) {
    return s.chip == &chip && s.keep == keep && restrict_alike(s.restrictions, restrictions);
  });
  const auto number = static_cast<std::size_t>(known - searches_.begin());
  if (number < searches_.size()) return number;
  arch::ArchSpec neutral = construct::geometry_key(chip);
  const auto pool = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& s) {
    return restrict_alike(s.restrictions, restrictions) && s.neutral == neutral;
  });
  const auto geometry =
      std::find_if(shared_.begin(), shared_.end(), [&](const Shared& s) { return s.neutral == neutral; });
  searches_.push_back({&chip, restrictions, keep, static_cast<std::size_t>(pool - shared_.begin()),
                       static_cast<std::size_t>(geometry - shared_.begin())});
  if (pool == shared_.end()) shared_.push_back({std::move(neutral), restrictions});
  return number;
}

void SweepSearches::expect(std::size_t search, std::size_t workload) {
  workload = workloads_[workload].searched_as;
  std::shared_ptr<Found>& found = found_[{search, workload}];
  if (found == nullptr) {
    found = std::make_shared<Found>();
    ++pools_[workload]->to_ask[searches_[search].geometry];
  }
  ++found->expected;
}

std::shared_ptr<const api::Ranked> SweepSearches::of(std::size_t search, std::size_t workload) {
  workload = workloads_[workload].searched_as;
  std::shared_ptr<Found> found;
  {
    const std::lock_guard lock(lock_);
    const auto at = found_.find({search, workload});
    base::check(at != found_.end(), "a search that is asked for was expected");
    found = at->second;
    if (--found->expected == 0) found_.erase(at);
  }
  const std::lock_guard lock(found->one_at_a_time);
  if (found->programs == nullptr) {
    const Requested& s = searches_[search];
    Pools& shared = *pools_[workload];
    const std::lock_guard alone(shared.one_at_a_time);
    const std::uint64_t made = shared.pools.made();
    auto programs = std::make_shared<api::Ranked>(api::construct(
        workloads_[workload].expression, *s.chip, {{api::Search::kRoller}, s.keep, s.restrictions}, &shared.pools));
    if (!shared.asked.insert(s.pool).second) recomputed_ += shared.pools.made() - made;
    if (--shared.to_ask[s.geometry] == 0 && !more_later_) shared.pools.drop(*s.chip);
    construct_cpu_ms_ += programs->construct_ms;
    found->programs = std::move(programs);
  }
  return found->programs;
}

}  // namespace tilescope::experiments

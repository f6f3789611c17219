// SPDX-License-Identifier: Apache-2.0
// What a copy that gathers asks of memory: the lanes' addresses follow from the indices in its table.

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/integer.h"
#include "sim/gpu/detail/access_patterns.h"

namespace tilescope::sim {

AccessPatterns::Found AccessPatterns::found_by_gather(std::int64_t warp, const Uniforms& u) {
  Gathered& g = *gathered_;
  AccessPattern& out = g.kept[g.next];
  g.next = (g.next + 1) % g.kept.size();
  indices_.split(mixed_, warp, u, splits_);
  const auto patterns = indices_.lane_patterns(mixed_, warp, splits_);
  for (std::size_t n = 0; n < guards_.size(); ++n) guard_common_[n] = indices_.common(guards_[n].value, u, splits_);
  const std::int64_t common = indices_.common(memory_, u, splits_), first = indices_.common(g.at, u, splits_);
  LaneAddresses lanes;
  lanes.lanes = indices_.lanes();
  lanes.bytes = bytes_;
  std::array<std::int64_t, arch::kMaxLanes> active;
  std::size_t n = 0;
  for (std::int64_t lane = 0; lane < indices_.threads_of(warp); ++lane) {
    const bool inside = std::all_of(guards_.begin(), guards_.end(), [&](const GuardForm& guard) {
      const auto at = static_cast<std::size_t>(&guard - guards_.data());
      const std::int64_t v = guard_common_[at] + indices_.lane_part(guard.value, warp, lane, patterns);
      return v >= 0 && v < guard.bound;
    });
    if (!inside) continue;
    const std::int64_t entry = first + indices_.lane_part(g.at, warp, lane, patterns);
    base::check(entry >= 0 && entry < std::ssize(*g.entries), "a lane's index lies in its table");
    active[n] = common + indices_.lane_part(memory_, warp, lane, patterns) +
                (*g.entries)[static_cast<std::size_t>(entry)] * g.stride_bytes;
    lanes.active[static_cast<std::size_t>(lane)] = true;
    lanes.at[static_cast<std::size_t>(lane)] = active[n++];
  }
  const std::span<const std::int64_t> addresses(active.data(), n);
  out.touches = touched_lines(addresses, bytes_, shapes_.line);
  out.count = {};
  out.count.global.lane_accesses = static_cast<std::int64_t>(n);
  out.count.global.requests = n > 0 ? 1 : 0;
  out.count.global.bytes = static_cast<std::int64_t>(n) * bytes_;
  out.count.global.sectors = sectors_of(out.touches);
  out.cache_passes = 0;
  if (n > 0 && shapes_.cache_has_banks) {
    const std::int64_t width = shapes_.banks.width;
    const std::int64_t least = base::floor_div(*std::min_element(addresses.begin(), addresses.end()), width) * width;
    for (std::int64_t& a : lanes.at) a -= least;
    out.cache_passes = bank_passes(lanes, shapes_.banks);
  }
  return {&out, 0};
}

}  // namespace tilescope::sim

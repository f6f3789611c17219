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
  for (std::size_t n = 0; n < guards_.size(); ++n) guard_common_[n] = guards_[n].value.common(u, splits_);
  const std::int64_t common = memory_.common(u, splits_), first = g.at.common(u, splits_);
  const std::int64_t shared_common = has_shared_ ? shared_.common(u, splits_) : 0;
  LaneAddresses lanes, shared;
  lanes.lanes = shared.lanes = indices_.lanes();
  lanes.bytes = shared.bytes = bytes_;
  std::array<std::int64_t, arch::kMaxLanes> active;
  std::size_t n = 0;
  for (std::int64_t lane = 0; lane < indices_.threads_of(warp); ++lane) {
    bool when = true, inside = true;
    for (std::size_t at = 0; at < guards_.size(); ++at) {
      const std::int64_t v = guard_common_[at] + indices_.lane_part(guards_[at].value, warp, lane, patterns);
      if (v < 0 || v >= guards_[at].bound) (guards_[at].reads ? inside : when) = false;
    }
    if (has_shared_ && when) {  // zeros where it does not read
      shared.active[static_cast<std::size_t>(lane)] = true;
      shared.at[static_cast<std::size_t>(lane)] = shared_common + indices_.lane_part(shared_, warp, lane, patterns);
    }
    if (!when || !inside) continue;
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
  if (has_shared_) {
    const auto writing = std::count(shared.active.begin(), shared.active.end(), true);
    out.count.shared.lane_accesses = writing;
    out.count.shared.requests = writing > 0 ? 1 : 0;
    out.count.shared.bytes = writing * bytes_;
    out.count.shared.passes = bank_passes(shared, shapes_.banks);
  }
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

// SPDX-License-Identifier: Apache-2.0
#include "api/network/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tilescope::api {

Arena arena_of(const std::vector<LivingTensor>& tensors, std::int64_t alignment) {
  Arena out;
  std::map<std::size_t, std::int64_t> changes;
  for (const LivingTensor& t : tensors) changes[t.first] += t.bytes, changes[t.last + 1] -= t.bytes;
  std::int64_t live = 0;
  for (const auto& [group, change] : changes) {
    live += change;
    if (live > out.live_bytes) out.live_bytes = live, out.at = group;
  }

  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(-tensors[a].bytes, tensors[a].first) < std::pair(-tensors[b].bytes, tensors[b].first);
  });
  out.offsets.resize(tensors.size());
  std::vector<std::pair<std::int64_t, std::size_t>> placed;  // by offset
  for (const std::size_t t : order) {
    const auto aligned = [&](std::int64_t at) { return (at + alignment - 1) / alignment * alignment; };
    std::int64_t end = 0, best = -1, best_gap = 0;
    for (const auto& [offset, other] : placed) {
      if (tensors[other].last < tensors[t].first || tensors[other].first > tensors[t].last) continue;
      const std::int64_t gap = offset - end;
      if (gap >= tensors[t].bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
      end = std::max(end, aligned(offset + tensors[other].bytes));
    }
    out.offsets[t] = best < 0 ? end : best;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), std::pair(out.offsets[t], t)), {out.offsets[t], t});
    out.bytes = std::max(out.bytes, out.offsets[t] + tensors[t].bytes);
  }
  return out;
}

}  // namespace tilescope::api

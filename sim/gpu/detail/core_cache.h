// SPDX-License-Identifier: Apache-2.0
#pragma once
// A core's own cache, in lines of the device's cache. A cache with wider sectors fetches all of them.

#include <algorithm>
#include <cstdint>

#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/sector_cache.h"

namespace tilescope::sim {

class CoreCache {
 public:
  explicit CoreCache(const Machine& machine) : machine_(machine) {}

  // Empties it. Blocks use `scratchpad_bytes` of the scratchpad, which a cache in the same memory lacks.
  void prepare(std::int64_t scratchpad_bytes) {
    if (!machine_.cache) return;
    const CoreCacheSpec& c = *machine_.cache;
    const std::int64_t bytes = c.bytes - (c.shares_scratchpad ? scratchpad_bytes : 0);
    tags_ = SectorCache({std::max<std::int64_t>(0, bytes) / machine_.memory.shape.line, c.ways});
  }

  bool holds_lines() const { return tags_.lines() > 0; }
  Cycle latency() const { return machine_.cache->latency; }
  SectorCache::Result touch(std::int64_t line, std::uint32_t sectors) { return tags_.touch(line, whole(sectors)); }
  void expect(std::int64_t line) const { tags_.expect(line); }

 private:
  std::uint32_t whole(std::uint32_t sectors) const {
    const std::int64_t wide = machine_.cache->sectors;
    if (wide == 1) return sectors;
    const std::uint32_t one = wide >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << wide) - 1;
    std::uint32_t out = 0;
    for (std::int64_t s = 0; s < 32; s += wide)
      if ((sectors >> s & one) != 0) out |= one << s;
    return out;
  }

  const Machine& machine_;
  SectorCache tags_{CacheSpec{}};
};

}  // namespace tilescope::sim

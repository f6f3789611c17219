// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants of what lies behind the cores, in cycles and bytes.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/memory/clock_ratio.h"
#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/crossbar.h"
#include "sim/memory/detail/outer_caches.h"
#include "sim/memory/detail/sector_cache.h"
#include "sim/memory/detail/tlb.h"
#include "sim/memory/detail/warp_access.h"
#include "sim/memory/dram_model.h"

namespace tilescope::sim {

struct MemorySpec {
  std::int64_t cores = 1;
  LineShape shape;                 // of the cache that cores reach first
  CacheSpec slice;                 // of each
  Rate slice_rate;                 // bytes
  std::int64_t request_bytes = 0;  // what a slice could move in the time that a request takes in addition to its data
  std::int64_t slice_queue = 0;    // requests that one has room for; 0: any number
  std::int64_t slice_misses = 0;   // lines under way into one; 0: any number
  std::optional<Rate> link_rate;   // bytes of one core's port, each way; nothing waits for a link that the chip lacks
  std::optional<ClusterSpec> cluster;     // of the link
  Cycle cache_latency{}, dram_latency{};  // whole load-to-use
  std::int64_t partitions = 1;            // of the slices
  Cycle remote_latency{};                 // load-to-use, from another partition
  std::optional<Rate> remote_rate;        // bytes that one partition takes from the others; no bound
  std::optional<TlbSpec> tlb;             // of what misses
  std::int64_t slices = 1;                // of that cache
  std::vector<OuterCacheSpec> outer;      // caches behind it, from the inside out
  AddressMapSpec map;                     // of the cache next to the DRAM
  std::int64_t write_backlog = 0;         // writes of a channel beyond which evictors wait; 0: any number
  DramSpec dram;
  std::int64_t burst_bytes = 1;
  std::optional<arch::PartialWrite> partial_write;  // of the cache; nothing where the DRAM takes parts as they come
  std::int64_t write_granule = 0;                   // bytes that the DRAM writes whole; 0: parts cost nothing
  ClockRatio clocks;                                // of the DRAM to the cores'
  DramFactory dram_model;                           // a user's DRAM; channels of `dram` where empty
};

// Of idle accesses, what is neither a port's time nor a bank's.
struct FixedLatency {
  Cycle forward{}, back{};  // between core and slice
  Cycle across{};           // between slices of two partitions, there and back
  Cycle to_channel{}, from_channel{};

  // No core hears of a request sooner than this after it was made.
  Cycle least() const { return std::max(1_cycles, std::min(forward, back)); }
};
FixedLatency fixed_latency_of(const MemorySpec& spec);

}  // namespace tilescope::sim

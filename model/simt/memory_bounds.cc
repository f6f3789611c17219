// SPDX-License-Identifier: Apache-2.0
#include "model/simt/detail/memory_bounds.h"

#include <algorithm>
#include <cmath>

#include "arch/derive.h"
#include "arch/hierarchy.h"

namespace tilescope::model {
namespace {

double cycles(const std::optional<base::Cycles>& c) { return c ? static_cast<double>(c->n) : 0.0; }

// A request holds its place for half of the idle way and for what the slice's port takes for it.
void read_queue(const arch::ArchSpec& a, const arch::CacheLevel& cache, MemoryBounds& b) {
  if (!cache.queue) return;
  b.max_requests = static_cast<double>(*cache.queue * cache.slices);
  b.way_us = 1e6 * cycles(cache.latency) / 2 / static_cast<double>(a.clock.n);
  b.request_bytes = static_cast<double>(cache.request.n);
  b.slice_bytes_per_us = static_cast<double>(cache.width.n) * static_cast<double>(arch::clock_of(a, cache).n) * 1e-6;
}

}  // namespace

std::optional<double> core_misses_of(const arch::ArchSpec& a) {
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const arch::CacheLevel* l1 = hierarchy.core_cache;
  if (l1 == nullptr || l1->mshrs.value_or(0) == 0 || hierarchy.device_caches.empty()) return std::nullopt;
  const arch::CacheLevel& cache = *hierarchy.device_caches[0];
  const auto misses = static_cast<double>(*l1->mshrs);
  const double bytes = misses * static_cast<double>(cache.sector.n);  // at least
  const double share = 1 / (static_cast<double>(a.core.count) * static_cast<double>(a.clock.n));
  double of_cache = arch::bandwidth_of(a, cache).v * share;
  if (a.link) of_cache = std::min(of_cache, static_cast<double>(a.link->width.n));
  const double of_dram = arch::bandwidth_of(a, *hierarchy.dram).v * share;
  const bool enough = bytes >= of_cache * cycles(cache.latency) && bytes >= of_dram * cycles(hierarchy.dram->latency);
  return enough ? std::nullopt : std::optional(misses);
}

MemoryBounds memory_bounds_of(const arch::ArchSpec& a) {
  MemoryBounds b;
  const arch::Hierarchy hierarchy = arch::hierarchy_of(a);
  const double core_mhz = static_cast<double>(a.clock.n) * 1e-6;
  if (!hierarchy.device_caches.empty()) {
    const arch::CacheLevel& cache = *hierarchy.device_caches[0];
    b.line_bytes = static_cast<double>(cache.line.n);
    read_queue(a, cache, b);
    if (cache.mshrs.value_or(0) > 0) b.max_misses = static_cast<double>(*cache.mshrs * cache.slices);
    if (cache.remote_width)
      b.crossing_bytes_per_us = static_cast<double>((*cache.remote_width * cache.l2_partitions).n) *
                                static_cast<double>(arch::clock_of(a, cache).n) * 1e-6;
    if (a.link && a.link->cluster_cores && a.link->cluster_width) {
      const std::int64_t clusters = (a.core.count + *a.link->cluster_cores - 1) / *a.link->cluster_cores;
      b.cluster_bytes_per_us = static_cast<double>((*a.link->cluster_width * clusters).n) * core_mhz;
      b.clusters = static_cast<double>(clusters);
      b.cluster_cores = *a.link->cluster_cores;
      b.asking_bytes = static_cast<double>(a.link->width.n);
    }
  }
  if (const auto& tlb = hierarchy.dram->tlb; tlb && tlb->walkers) {
    b.translations_per_us = static_cast<double>(*tlb->walkers) * core_mhz / static_cast<double>(tlb->miss.n);
    b.page_bytes = static_cast<double>(tlb->page.n);
    b.reach_bytes = b.page_bytes * static_cast<double>(tlb->entries);
    b.translates_writes = tlb->writes;
  }
  return b;
}

double least_cache_time_us(const DeviceTraffic& t, const Machine& m) {
  const MemoryBounds& b = m.bounds;
  const Moved& asked = t.caches[0];
  double us = 0;
  const double reads = asked.read * t.requests_per_byte.read, writes = asked.written * t.requests_per_byte.written;
  if (b.max_requests) {
    const double port_us = (asked.bytes() + (reads + writes) * b.request_bytes) / b.slice_bytes_per_us;
    us = std::max(us, ((reads + writes) * b.way_us + port_us) / *b.max_requests);
  }
  if (b.max_misses) {
    // Each level's part of what is missed is under way for as much longer as that level is farther.
    double held = 0;  // misses times cycles
    const double first = m.device_caches[0].latency_cycles;
    const auto add = [&](double misses, double latency) { held += misses * std::max(0.0, latency - first); };
    for (std::size_t c = 1; c < m.device_caches.size(); ++c) {
      const double beyond = c + 1 < m.device_caches.size() ? t.caches[c + 1].read : t.dram.read;
      add(std::max(0.0, t.caches[c].read - beyond) * t.misses_per_byte, m.device_caches[c].latency_cycles);
    }
    add(t.dram.read * t.misses_per_byte + t.fetched_for_stores * t.requests_per_byte.written, m.dram_latency_cycles);
    us = std::max(us, 1e6 * held / *b.max_misses / m.clock_hz);
  }
  if (b.crossing_bytes_per_us) us = std::max(us, t.crossing_bytes / *b.crossing_bytes_per_us);
  if (b.cluster_bytes_per_us) {
    const double share = std::max(t.cluster_share, 1 / b.clusters);
    const double out = asked.written + reads * b.asking_bytes;
    us = std::max(us, std::max(asked.read, out) * share * b.clusters / *b.cluster_bytes_per_us);
  }
  return us;
}

double least_translation_time_us(const DeviceTraffic& t, const Machine& m) {
  const MemoryBounds& b = m.bounds;
  const Moved& all = t.distinct;
  // What is fetched for a store is of the output's pages, whose translations the store may have fetched just before.
  const double stored = std::max(b.translates_writes ? t.dram.written : 0, t.fetched_for_stores);
  const double pages_touched = all.read + (stored > 0 ? all.written : 0);
  const auto translated = [&](double moved, double distinct) {
    return pages_touched > b.reach_bytes ? moved : std::min(moved, distinct);
  };
  const double bytes = translated(t.dram.read, all.read) + translated(stored, all.written);
  return bytes / b.page_bytes / *b.translations_per_us;
}

double crossings_of_line(double readers, double partitions) {
  return readers <= 1 ? 0 : partitions * (1 - std::pow(1 - 1 / partitions, readers)) - 1;
}

}  // namespace tilescope::model

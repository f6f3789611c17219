// SPDX-License-Identifier: Apache-2.0
// Traces through the caches of a device: latencies against the chip's own, amounts against plain sets.

#include "sim/cache_trace.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/hierarchy.h"
#include "arch/load.h"
#include "tests/support/build.h"

namespace tilescope::sim {
namespace {

using tests::chip;
using Kind = Injection::Kind;

const LevelStatistics& level_in(const CacheTraceResult& r, std::string_view name) {
  for (const LevelReport& l : r.levels)
    if (l.name == name) return l.amounts;
  throw std::out_of_range("no such level");
}

TEST(CacheTrace, AnIdleAccessTakesWhatTheChipSays) {
  const arch::ArchSpec v100 = chip("v100");
  const auto l2 = static_cast<double>(arch::device_cache_of(v100)->latency->n);
  const std::vector<TraceRequest> same(100, {4096, 32, false});
  const CacheTraceResult r = replay_through_caches(same, v100, {Kind::kWindow, 1});
  EXPECT_EQ(r.latency.p50, l2);
  EXPECT_EQ(r.latency.p95, l2);
  // The row of the first one is closed: less than a miss that finds another row open.
  EXPECT_GT(r.latency.max, l2);
  EXPECT_LE(r.latency.max, static_cast<double>(arch::dram_of(v100)->latency->n));
  EXPECT_EQ(level_in(r, "l2").hits, 99);
  EXPECT_EQ(level_in(r, "dram").read_bytes, 32);
  EXPECT_EQ(r.cycles.count(), static_cast<std::int64_t>(r.latency.max + 99 * l2));
}

TEST(CacheTrace, RequestsAreCutAtLinesAndTouchSectors) {
  const arch::ArchSpec v100 = chip("v100");  // lines of 128 B, sectors of 32 B
  const CacheTraceResult r = replay_through_caches({{120, 16, false}, {256, 128, true}}, v100, {});
  EXPECT_EQ(r.requests, 2);
  EXPECT_EQ(r.lines, 3);
  EXPECT_EQ(r.useful_bytes, 16 + 128);
  EXPECT_EQ(r.bus_bytes, 2 * 32 + 128);
  EXPECT_EQ(r.dirtied_bytes, 128);
}

// Of a footprint that the cache holds: a sector misses once, and none is written back.
RC_GTEST_PROP(CacheTrace, CountsWhatPlainSetsCount, ()) {
  const arch::ArchSpec v100 = chip("v100");
  const auto count = *rc::gen::inRange<std::size_t>(1, 2000);
  std::vector<TraceRequest> t;
  std::set<std::int64_t> touched, fetched, dirty;
  std::int64_t sectors = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, 4096), many = *rc::gen::inRange<std::int64_t>(1, 8);
    const bool write = *rc::gen::inRange(0, 3) == 0;
    t.push_back({first * 32, many * 32, write});
    for (std::int64_t s = first; s < first + many; ++s, ++sectors) {
      const bool is_new = touched.insert(s).second;
      if (write) dirty.insert(s);
      if (is_new && !write) fetched.insert(s);
    }
  }
  // One after the other, so that they reach the cache in this order.
  const CacheTraceResult r = replay_through_caches(t, v100, {Kind::kWindow, 1});
  RC_ASSERT(level_in(r, "l2").transactions == sectors);
  RC_ASSERT(level_in(r, "l2").hits == sectors - std::ssize(touched));
  RC_ASSERT(level_in(r, "dram").read_bytes == 32 * std::ssize(fetched));
  RC_ASSERT(level_in(r, "dram").written_bytes == 0);
  RC_ASSERT(r.dirtied_bytes == 32 * std::ssize(dirty));
}

// What does not fit is written back: all but what the cache still holds.
TEST(CacheTrace, WritesBackWhatDoesNotFit) {
  const arch::ArchSpec v100 = chip("v100");
  const std::int64_t capacity = arch::device_cache_of(v100)->capacity.n;
  std::vector<TraceRequest> t;
  for (std::int64_t a = 0; a < 3 * capacity; a += 128) t.push_back({a, 128, true});
  const CacheTraceResult r = replay_through_caches(t, v100, {});
  EXPECT_EQ(r.dirtied_bytes, 3 * capacity);
  EXPECT_GE(level_in(r, "dram").written_bytes, 2 * capacity);
  EXPECT_LE(level_in(r, "dram").written_bytes, 3 * capacity);
  EXPECT_EQ(level_in(r, "dram").read_bytes, 0);
}

TEST(CacheTrace, ARateIsItsTimes) {
  const arch::ArchSpec v100 = chip("v100");
  std::vector<TraceRequest> t;
  for (std::int64_t i = 0; i < 5000; ++i) t.push_back({i * 4128 % (1 << 28), 32, i % 3 == 2});
  const CacheTraceResult rated = replay_through_caches(t, v100, {.kind = Kind::kRate, .rate = 0.1});
  std::int64_t bytes = 0;
  for (TraceRequest& r : t) {
    r.at = static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) / (0.1 * rated.peak)));
    const std::int64_t first = r.address / 32, last = (r.address + r.bytes - 1) / 32;
    bytes += (last - first + 1) * 32;
  }
  const CacheTraceResult timed = replay_through_caches(t, v100, {.timed = true});
  EXPECT_LT(rated.latency.p99, 2000) << "at a tenth of the peak requests do not pile up";
  EXPECT_EQ(level_in(timed, "l2").transactions, level_in(rated, "l2").transactions);
  EXPECT_NEAR(timed.latency.mean, rated.latency.mean, 0.05 * rated.latency.mean);
}

TEST(CacheTrace, EveryChipWithACacheOfTheDeviceCanBeDriven) {
  std::vector<TraceRequest> t;
  for (std::int64_t i = 0; i < 500; ++i) t.push_back({i * 4160, 64, i % 4 == 3});
  int driven = 0;
  for (const arch::Device& d : arch::list_devices()) {
    const arch::ArchSpec a = chip(d.name);
    if (a.chip_class != arch::ChipClass::kGpu) continue;
    const CacheTraceResult r = replay_through_caches(t, a, {});
    EXPECT_EQ(r.requests, 500) << d.name;
    EXPECT_GT(r.latency.mean, 0) << d.name;
    EXPECT_EQ(replay_through_caches(t, a, {}).cycles, r.cycles) << d.name;
    ++driven;
  }
  EXPECT_GE(driven, 15);
}

}  // namespace
}  // namespace tilescope::sim

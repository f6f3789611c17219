// SPDX-License-Identifier: Apache-2.0
// The units of what lies behind the cores, each alone: data on their way, requests that wait for places, what the
// device's cache holds, and what comes behind it.

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/behind_cache.h"
#include "sim/memory/detail/device_cache.h"
#include "sim/memory/detail/fills.h"
#include "sim/memory/detail/waiting_requests.h"
#include "tests/support/paths.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::Pair;

// --- data on their way

TEST(Fills, ThoseWhoWaitHearInTheirOrder) {
  Fills<int> fills;
  SectorCache::Line line;
  const int a = fills.begin(&line, 1), b = fills.begin(nullptr, 2);
  EXPECT_NE(a, b);
  EXPECT_TRUE(line.pending());
  EXPECT_EQ(line.fill(), a);
  fills.wait_too(a, 3);
  fills.wait_too(b, 4);
  fills.wait_too(a, 5);
  std::vector<int> heard;
  fills.end(a, 9_cycles, [&](int who) { heard.push_back(who); });
  EXPECT_THAT(heard, ElementsAre(1, 3, 5));
  EXPECT_FALSE(line.pending());
  EXPECT_EQ(line.ready(), 9_cycles);
  heard.clear();
  EXPECT_EQ(fills.begin(nullptr, 6), a) << "its number is another's";
  fills.end(a, 10_cycles, [&](int who) { heard.push_back(who); });
  fills.end(b, 10_cycles, [&](int who) { heard.push_back(who); });
  EXPECT_THAT(heard, ElementsAre(6, 2, 4)) << "and its waiters are gone";
}

TEST(Fills, ALineThatSomethingElseIsOnItsWayIntoStaysPending) {
  Fills<int> fills;
  SectorCache::Line line;
  const int first = fills.begin(&line, 0), second = fills.begin(&line, 0);
  fills.end(first, 5_cycles, [](int) {});
  EXPECT_TRUE(line.pending());
  fills.end(second, 7_cycles, [](int) {});
  EXPECT_EQ(line.ready(), 7_cycles);
}

TEST(Fills, ItIsAllThereWithItsLatestPart) {
  Fills<int> fills;
  const int whole = fills.begin(nullptr, 0);
  EXPECT_EQ(fills.arrive(whole, 3_cycles), 3_cycles);
  const int parts = fills.begin(nullptr, 0);
  EXPECT_EQ(fills.in_parts(parts, 2, 20_cycles), std::nullopt);
  EXPECT_EQ(fills.arrive(parts, 30_cycles), std::nullopt);
  EXPECT_EQ(fills.arrive(parts, 10_cycles), 30_cycles);
  EXPECT_EQ(fills.in_parts(fills.begin(nullptr, 0), 0, 4_cycles), 4_cycles);
}

// --- requests that wait

// Slice 0 has one place and takes ten cycles. Core 1 asks while it is taken, and core 0 keeps its second request, which
// is for the other slice, behind its first.
TEST(WaitingRequests, PlacesGoByTimeAndNoRequestPassesItsCores) {
  WaitingRequests waiting(3, 2, 1);
  waiting.add({.core = 2, .ticket = 0, .at = 0_cycles}, 0);
  waiting.add({.core = 0, .ticket = 1, .at = 1_cycles}, 0);
  waiting.add({.core = 0, .ticket = 2, .at = 1_cycles}, 1);
  waiting.add({.core = 1, .ticket = 3, .at = 4_cycles}, 0);
  EXPECT_EQ(waiting.next(), 0_cycles);
  std::vector<std::pair<int, std::int64_t>> sent;
  const auto serve = [&](const MemoryRequest& r, Cycle at) {
    sent.emplace_back(r.ticket, at.count());
    return at + 10_cycles;
  };
  waiting.send(5_cycles, serve);
  EXPECT_THAT(sent, ElementsAre(Pair(0, 0)));
  EXPECT_EQ(waiting.next(), 10_cycles);
  waiting.send(100_cycles, serve);
  EXPECT_THAT(sent, ElementsAre(Pair(0, 0), Pair(1, 10), Pair(2, 10), Pair(3, 20)));
  EXPECT_EQ(waiting.next(), Cycle::max());
}

// --- what the device's cache holds

MemorySpec partitioned(std::int64_t partitions, std::optional<arch::PartialWrite> partial) {
  MemorySpec m = machine_of(chip("v100")).memory;
  m.partitions = partitions;
  m.slices = 4 * partitions;
  m.slice = {.lines = 64, .ways = CacheSpec::kAnyWay};
  m.partial_write = partial;
  return m;
}

// Against plain lists of what every partition has of 100 lines, which all have room. A write of a part of a sector
// takes its first half.
TEST(DeviceCache, HoldsWhatPlainListsHold) {
  constexpr int kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (const std::int64_t partitions : {1, 2, 3})
    for (const auto partial : {arch::PartialWrite::kMasked, arch::PartialWrite::kFetched}) {
      const MemorySpec spec = partitioned(partitions, partial);
      DeviceCache cache(spec);
      struct Held {
        std::uint32_t valid = 0, dirty = 0;
      };
      std::map<std::pair<std::int64_t, std::int64_t>, Held> held;  // by partition and line
      std::map<std::int64_t, std::uint32_t> partly;                // sectors whose first half alone is known
      for (int n = 0; n < 3000; ++n) {
        const int core = static_cast<int>(random() % 7);
        const std::int64_t line = static_cast<std::int64_t>(random() % 100), own = core % partitions;
        const auto sectors = static_cast<std::uint32_t>(random() % 15 + 1);
        Held& here = held[{own, line}];
        ASSERT_EQ(cache.partition_of(core), own);
        ASSERT_EQ(cache.line_of(cache.slice_of(core, line), cache.local(line)), line);
        ASSERT_EQ(cache.slice_of(core, line) / 4, own);
        const auto others = [&](auto visit) {
          for (std::int64_t p = 0; p < partitions; ++p)
            if (p != own) visit(held[{p, line}]);
        };
        if (random() % 2 == 0) {
          const std::uint32_t missing = sectors & ~here.valid;
          if (missing != 0) {
            bool some = false;
            others([&](const Held& o) { some = some || (o.valid & missing) == missing; });
            ASSERT_EQ(cache.elsewhere(core, line, missing).line != nullptr, some) << n;
          }
          const DeviceCache::Read r = cache.read(core, line, sectors);
          ASSERT_EQ(r.hit.missing, missing) << n;
          ASSERT_EQ(r.partly, partly[line] & sectors) << n;
          here.valid |= sectors;
          partly[line] &= ~sectors;
          continue;
        }
        Written written;
        if (random() % 2 == 0) {
          written.partly = sectors;
          for (std::uint32_t s = 0; s < 4; ++s)
            if ((sectors >> s & 1) != 0) written.parts |= parts_between(spec.shape, s * 32, s * 32 + 16);
        }
        std::uint32_t known = here.valid;
        std::int64_t dropped = 0;
        others([&](Held& o) {
          known |= o.valid;
          dropped += std::popcount(o.dirty & sectors);
          o.valid &= ~sectors, o.dirty &= ~sectors;
        });
        const DeviceCache::Write w = cache.write(core, line, sectors, written);
        const std::uint32_t lacking = written.partly & ~known;
        ASSERT_EQ(w.hit.missing, sectors & ~here.valid) << n;
        ASSERT_EQ(w.rest, partial == arch::PartialWrite::kFetched ? lacking : 0) << n;
        ASSERT_EQ(w.dirtied, 32 * (std::popcount(sectors & ~here.dirty) - dropped)) << n;
        ASSERT_EQ(w.hit.line->dirty() & sectors, sectors);
        here.valid |= sectors, here.dirty |= sectors;
        if (written.partly == 0) partly[line] &= ~sectors;
        if (partial == arch::PartialWrite::kMasked) partly[line] |= lacking;
      }
    }
}

TEST(DeviceCache, ACleanLineThatLeavesStaysInTheNextPartition) {
  MemorySpec spec = partitioned(2, {});
  spec.slices = 2;
  spec.slice = {.lines = 1, .ways = 1, .tells_clean = true};
  DeviceCache cache(spec);
  cache.read(0, 5, 3);
  const SectorCache::Victim out = cache.read(0, 6, 1).hit.victim;
  ASSERT_TRUE(out);
  EXPECT_EQ(cache.keep(cache.slice_of(0, 6), out).slice, 1);
  EXPECT_EQ(cache.elsewhere(0, 5, 3).slice, 1);
  EXPECT_EQ(cache.elsewhere(0, 5, 4).line, nullptr);
  EXPECT_EQ(cache.times_filled(), 1) << "two lines for two requests: what is kept is no request";
}

// --- what comes behind it

// Serves nothing by itself; keeps what it is asked.
struct Recorder final : DramModel {
  struct Log {
    std::vector<DramAccess> asked;
    std::vector<DramServed> serve;  // in the next run
    std::int64_t waiting = 0;
  };
  explicit Recorder(Log& l) : log(l) {}
  Clock push(const DramAccess& a) override {
    log.asked.push_back(a);
    return a.request.arrival;
  }
  void run(Clock, std::vector<DramServed>& served) override { served = std::exchange(log.serve, {}); }
  Clock next() const override { return kNever; }
  std::int64_t waiting_writes(std::int64_t) const override { return log.waiting; }
  void watch(Watcher) override {}
  Log& log;
};

struct Behind : testing::Test {
  MemorySpec spec = [this] {
    MemorySpec m = machine_of(chip("v100")).memory;
    m.clocks = {};
    m.burst_bytes = 64;
    m.write_backlog = 3;
    m.dram_model = [this] { return std::make_unique<Recorder>(log); };
    return m;
  }();
  FixedLatency latency{.to_channel = 7_cycles, .from_channel = 11_cycles};
  Recorder::Log log;
  Statistics statistics;
};

TEST_F(Behind, AReadAsksForTheBurstsOfItsSectorsAndArrivesOverTheWire) {
  BehindCache behind(spec, latency, statistics);
  EXPECT_EQ(behind.read(40, 0b1011, 3, 100_cycles).pending, 1);  // sectors 0 and 1 share a burst
  ASSERT_EQ(log.asked.size(), 1u);
  EXPECT_EQ(log.asked[0].request.bursts, 2);
  EXPECT_EQ(log.asked[0].line_address, 40 * 128);
  EXPECT_EQ(log.asked[0].request.arrival, Clock(107));
  EXPECT_EQ(behind.next(), 107_cycles);
  EXPECT_TRUE(behind.run(107_cycles).empty()) << "not before";
  log.serve = {{.id = 3, .row_hit = true, .bursts = 2, .done = Clock(150)}};
  const auto served = behind.run(108_cycles);
  ASSERT_EQ(served.size(), 1u);
  const auto arrived = behind.arrive(served[0]);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].fill, 3);
  EXPECT_EQ(arrived[0].at, 161_cycles);
  EXPECT_EQ(statistics.level(LevelRole::kDram).read_bytes, 128);
  EXPECT_EQ(statistics.level(LevelRole::kDram).hits, 2);
  EXPECT_EQ(behind.next(), Cycle::max());
}

TEST_F(Behind, AWriterWaitsWhereSoManyWritesWait) {
  BehindCache behind(spec, latency, statistics);
  log.waiting = 2;
  EXPECT_FALSE(behind.write(1, 1, {.bursts = 1}, 0_cycles, 5));
  EXPECT_EQ(log.asked.back().request.id, BehindCache::kNoFill);
  log.waiting = 3;
  EXPECT_FALSE(behind.write(1, 1, {.bursts = 1}, 0_cycles, BehindCache::kNoFill));
  EXPECT_TRUE(behind.write(1, 1, {.bursts = 1, .merged = 2}, 0_cycles, 5));
  ASSERT_EQ(log.asked.size(), 4u);
  EXPECT_EQ(log.asked[2].request.id, 5) << "the merging one carries the writer";
  EXPECT_TRUE(log.asked[2].request.merges);
  EXPECT_EQ(log.asked[3].request.id, BehindCache::kNoFill);
  const auto arrived = behind.arrive({.id = 5, .write = true, .bursts = 1, .done = Clock(20)});
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].at, 20_cycles) << "no wire back: it is accepted there";
  EXPECT_TRUE(behind.arrive({.id = 5, .merges = true}).empty()) << "the read of a merging write is not its end";
}

// Two lines of 128 B share one of the outer cache, of which one access brings both.
TEST_F(Behind, OuterCachesAskOnceForWhatTwoWaitFor) {
  spec.outer = {
      {.shape = {256, 64}, .slice = {.lines = 16}, .slice_rate = {64, 1}, .latency = spec.cache_latency + 100_cycles}};
  BehindCache behind(spec, latency, statistics);
  EXPECT_EQ(behind.read(2, 1, 0, 0_cycles).pending, 1);
  EXPECT_EQ(behind.read(2, 2, 1, 0_cycles).pending, 1);
  ASSERT_EQ(log.asked.size(), 1u);
  const auto arrived = behind.arrive({.id = log.asked[0].request.id, .bursts = 1, .done = Clock(500)});
  ASSERT_EQ(arrived.size(), 2u);
  EXPECT_EQ(arrived[0].fill, 0);
  EXPECT_EQ(arrived[1].fill, 1);
  EXPECT_GT(arrived[0].at, 511_cycles) << "and the wire of the outer cache";
  const BehindCache::Outcome hit = behind.read(2, 3, 2, 1000_cycles);
  EXPECT_EQ(hit.pending, 0);
  EXPECT_EQ(hit.from, stall_of_device_cache(1));
}

}  // namespace
}  // namespace tilescope::sim

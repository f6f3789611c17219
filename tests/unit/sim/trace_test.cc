// SPDX-License-Identifier: Apache-2.0
// Traces on one level: how they are injected, counted and timed.

#include "sim/trace.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilescope::sim {
namespace {

using Kind = Injection::Kind;

// One channel of 32-byte bursts, rows of 1 KiB over 16 banks; no refresh.
TraceSpec one_channel() {
  TraceSpec s;
  s.dram = {.banks = 16,
            .rows = true,
            .queue_depth = 32,
            .write_threshold = 8,
            .write_idle = 50_nck,
            .max_age = 2000_nck,
            .t = {.rcd = 12_nck,
                  .rp = 14_nck,
                  .ras = 28_nck,
                  .rc = 42_nck,
                  .rrd_s = 4_nck,
                  .ccd_s = 2_nck,
                  .cl = 17_nck,
                  .cwl = 7_nck,
                  .burst = 2_nck}};
  s.burst_bytes = 32;
  s.place = [](std::int64_t a) { return BurstPlace{0, a / 1024 % 16, a / 1024 / 16}; };
  return s;
}

std::vector<TraceRequest> reads(int n, std::int64_t stride, std::int64_t bytes = 32) {
  std::vector<TraceRequest> t;
  for (int i = 0; i < n; ++i) t.push_back({i * stride, bytes, false});
  return t;
}

TEST(Trace, RequestsAreCutAtBurstsAndNotPutTogether) {
  EXPECT_EQ(replay({{0, 32, false}}, one_channel(), {}).bursts, 1);
  EXPECT_EQ(replay({{16, 32, false}}, one_channel(), {}).bursts, 2);
  EXPECT_EQ(replay({{0, 100, false}}, one_channel(), {}).bursts, 4);
  EXPECT_EQ(replay({{0, 16, false}, {16, 16, false}}, one_channel(), {}).bursts, 2);
  EXPECT_EQ(replay({{0, 100, false}}, one_channel(), {}).useful_bytes, 100);
}

// A write of a part of what is written whole brings a read with it; reads and whole writes do not.
TEST(Trace, WritesOfPartsAreReadFirst) {
  TraceSpec s = one_channel();
  s.write_granule = 16;
  EXPECT_EQ(replay({{0, 32, true}, {48, 16, true}, {68, 4, false}}, s, {}).bursts, 3);
  EXPECT_EQ(replay({{0, 24, true}, {40, 32, true}, {96, 8, true}}, s, {}).bursts, 4 + 4);
  EXPECT_EQ(replay({{0, 24, true}, {40, 32, true}, {96, 8, true}}, one_channel(), {}).bursts, 4);
  for (const Injection& i : {Injection{}, Injection{Kind::kWindow, 4}, Injection{.kind = Kind::kRate, .rate = 0.1}})
    EXPECT_EQ(replay({{0, 24, true}, {32, 32, false}, {96, 8, true}}, s, i).bursts, 3 + 2);
}

TEST(Trace, OneBurstUnderWayWaitsForTheOneBefore) {
  const TraceResult r = replay(reads(31, 32), one_channel(), {Kind::kWindow, 1});
  EXPECT_DOUBLE_EQ(r.latency.mean, static_cast<double>(kDramHandshake) + 17 + 2 + 12.0 / 31);  // one row, opened once
  EXPECT_EQ(r.activates, 1);
}

// By hand, rows of 1 KiB, of which sixteen that follow each other lie in sixteen banks: a stream opens each row once, a
// read of each sixteenth row one row each, two such rows that are read in turns one each time, and sixteen rows that
// are read in turns stay open.
TEST(Trace, RowsAreOpenedAsByHand) {
  constexpr std::int64_t kRow = 1024, kBanks = 16;
  const auto activates = [](const std::vector<TraceRequest>& t) {
    return replay(t, one_channel(), {Kind::kWindow, 1}).activates;
  };
  EXPECT_EQ(activates(reads(64 * kRow / 32, 32)), 64);
  EXPECT_EQ(replay(reads(64 * kRow / 32, 32), one_channel(), {}).activates, 64);
  EXPECT_EQ(activates(reads(100, kBanks * kRow)), 100);
  EXPECT_EQ(replay(reads(100, kBanks * kRow), one_channel(), {}).activates, 100);
  std::vector<TraceRequest> two, sixteen;
  for (std::int64_t i = 0; i < 20; ++i) {
    two.push_back({i % 2 * kBanks * kRow + i / 2 * 32, 32, false});
    for (std::int64_t bank = 0; bank < kBanks; ++bank) sixteen.push_back({bank * kRow + i * 32, 32, false});
  }
  EXPECT_EQ(activates(two), 20);
  EXPECT_EQ(activates(sixteen), kBanks);
}

TEST(Trace, AWindowIsLittlesLawUntilTheBusBinds) {
  const auto clocks = [](std::int64_t window) {
    return static_cast<double>(replay(reads(20000, 32), one_channel(), {Kind::kWindow, window}).clocks);
  };
  EXPECT_NEAR(clocks(2) / clocks(1), 0.5, 0.03);
  EXPECT_NEAR(clocks(4) / clocks(1), 0.25, 0.03);
  EXPECT_NEAR(clocks(64), 20000 * 2, 0.05 * 20000 * 2);
}

TEST(Trace, ARateBelowThePeakIsKept) {
  const TraceResult r = replay(reads(10000, 32), one_channel(), {.kind = Kind::kRate, .rate = 0.25});
  EXPECT_NEAR(static_cast<double>(r.clocks), 10000 * 2 / 0.25, 100);
  EXPECT_LT(r.latency.mean, 2 * (14 + 12 + 17 + 2));
}

// Requests of few places, many of them equal, however they come: a controller answers some from what waits or is under
// way, and only what the bus moved counts.
TEST(Law, ATraceMovesNoMoreThanTheBusCan) {
  EXPECT_TRUE(rc::check("bursts of a trace", [] {
    const TraceSpec spec = one_channel();
    const auto places = *rc::gen::inRange<std::int64_t>(1, 40);
    const std::vector<TraceRequest> trace =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<TraceRequest>>(rc::gen::exec([&] {
          return TraceRequest{32 * *rc::gen::inRange<std::int64_t>(0, places), 32, *rc::gen::inRange(0, 3) == 0};
        })));
    const Injection how = *rc::gen::element(Injection{}, Injection{Kind::kWindow, 4}, Injection{Kind::kWindow, 100},
                                            Injection{.kind = Kind::kRate, .rate = 0.5});
    const TraceResult r = replay(trace, spec, how);
    std::set<std::int64_t> distinct;
    for (const TraceRequest& t : trace) distinct.insert(t.address);
    RC_ASSERT(r.bursts * spec.dram.clocks_per_burst() <= r.clocks);
    RC_ASSERT(r.bursts <= std::ssize(trace));
    RC_ASSERT(r.bursts >= std::ssize(distinct));
  }));
}

TEST(Trace, EqualReadsThatWaitTogetherMoveOneBurst) {
  const std::vector<TraceRequest> equal(30, {0, 32, false});
  EXPECT_EQ(replay(equal, one_channel(), {}).bursts, 1);
  EXPECT_EQ(replay(equal, one_channel(), {Kind::kWindow, 1}).bursts, 30) << "each comes when the one before is done";
}

// Of a closed row: 1 + 12 + 17 + 2; of the open one, 1 + 17 + 2.
TEST(Trace, RequestsArriveAtTheirTimes) {
  std::vector<TraceRequest> t = reads(2, 32);
  t[1].at = 1000;
  for (const Kind kind : {Kind::kSaturated, Kind::kWindow}) {
    const TraceResult r = replay(t, one_channel(), {.kind = kind, .timed = true});
    EXPECT_EQ(r.clocks, 1020_nck);
    EXPECT_DOUBLE_EQ(r.latency.mean, (32 + 20) / 2.0);
    EXPECT_DOUBLE_EQ(r.latency.max, 32);
  }
}

// A hundred reads of a row at once, of which the i-th leaves the bus at 1 + 12 + 17 + 2 i: latencies are from arrival,
// although the controller accepts 32 at a time.
TEST(Trace, LatenciesOfTimedRequestsAreFromArrival) {
  TraceSpec spec = one_channel();
  spec.place = [](std::int64_t a) { return BurstPlace{0, 0, a / 3200}; };
  const LatencySummary l = replay(reads(100, 32), spec, {.timed = true}).latency;
  EXPECT_DOUBLE_EQ(l.mean, 30 + 101);
  EXPECT_DOUBLE_EQ(l.p50, 30 + 2 * 51);
  EXPECT_DOUBLE_EQ(l.p95, 30 + 2 * 96);
  EXPECT_DOUBLE_EQ(l.p99, 30 + 2 * 100);
  EXPECT_DOUBLE_EQ(l.max, 30 + 2 * 100);
  EXPECT_LT(replay(reads(100, 32), spec, {}).latency.max, l.max) << "from acceptance";
}

// The times that a rate gives, written down, are the same trace.
TEST(Trace, ARateIsItsTimes) {
  std::vector<TraceRequest> t = reads(5000, 8224);
  for (std::size_t i = 0; i < t.size(); ++i) {
    t[i].write = i % 3 == 2;
    t[i].at = static_cast<std::int64_t>(std::ceil(static_cast<double>(i) / (0.3 * 0.5)));
  }
  const TraceResult timed = replay(t, one_channel(), {.timed = true});
  const TraceResult rated = replay(t, one_channel(), {.kind = Kind::kRate, .rate = 0.3});
  EXPECT_EQ(timed.clocks, rated.clocks);
  EXPECT_EQ(timed.activates, rated.activates);
  EXPECT_DOUBLE_EQ(timed.latency.mean, rated.latency.mean);
  EXPECT_DOUBLE_EQ(timed.latency.p99, rated.latency.p99);
}

// Times so far apart that there are refreshes by the hundred million in between: those of a rank at rest are left out.
TEST(Trace, LongRestsTakeNoTime) {
  TraceSpec spec = one_channel();
  spec.dram.t.rfc = 220_nck;
  spec.dram.t.refi = 3900_nck;
  std::vector<TraceRequest> t = reads(2, 32);
  t[1].at = 3900 * std::int64_t{250'000'000} + 1000;
  EXPECT_EQ(replay(t, spec, {.timed = true}).clocks.count(), t[1].at + 32);  // the row was closed by a refresh
}

TEST(Trace, ChannelsWorkSideBySide) {
  TraceSpec four = one_channel();
  four.channels = 4;
  four.place = [](std::int64_t a) { return BurstPlace{a / 32 % 4, a / 4096 % 16, a / 4096 / 16}; };
  const auto one = replay(reads(20000, 32), one_channel(), {}), all = replay(reads(20000, 32), four, {});
  EXPECT_NEAR(static_cast<double>(all.clocks) / static_cast<double>(one.clocks), 0.25, 0.01);
}

// The same trace twice gives the same clocks; twice the trace takes twice the time.
TEST(Trace, IsDeterministicAndGrowsWithItsLength) {
  const auto clocks = [](int n) { return replay(reads(n, 8224), one_channel(), {}).clocks; };
  EXPECT_EQ(clocks(5000), clocks(5000));
  EXPECT_NEAR(static_cast<double>(clocks(10000)) / static_cast<double>(clocks(5000)), 2, 0.02);
}

}  // namespace
}  // namespace tilescope::sim

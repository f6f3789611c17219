// SPDX-License-Identifier: Apache-2.0
// The units of a core, each alone: what it does with lines, bytes and cycles that are handed to it.

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gpu/detail/issue_slots.h"
#include "sim/gpu/detail/miss_table.h"
#include "sim/gpu/detail/tma_engine.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::ElementsAre;

// Against a plain list of when lines ended.
TEST(MissTable, OneBeginsWhenTheOneALimitBeforeHasEnded) {
  constexpr int kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (const std::int64_t limit : {1, 3, 8}) {
    MissTable misses;
    misses.prepare(limit);
    std::vector<std::optional<Cycle>> ends;
    std::vector<std::pair<int, std::size_t>> under_way;  // ticket, number
    for (int n = 0; n < 500; ++n) {
      const auto number = static_cast<std::int64_t>(ends.size());
      const std::optional<Cycle> room = number < limit ? std::optional(0_cycles) : ends[ends.size() - limit];
      ASSERT_EQ(misses.room(), room) << limit << " " << n;
      if (room && random() % 2 == 0) {
        under_way.emplace_back(misses.begin({}, true, nullptr), ends.size());
        ends.emplace_back();
      } else if (!under_way.empty()) {
        const auto which = static_cast<std::ptrdiff_t>(random() % under_way.size());
        const auto [ticket, line] = under_way[static_cast<std::size_t>(which)];
        ends[line] = Cycle(n + 1);
        EXPECT_TRUE(misses.end(ticket, *ends[line], [](const Waiter&) {}));
        under_way.erase(under_way.begin() + which);
      }
      ASSERT_EQ(misses.outstanding(), std::ssize(under_way));
    }
  }
}

TEST(MissTable, LinesOfTheEngineDoNotCount) {
  MissTable misses;
  misses.prepare(1);
  const int box = misses.begin({Waiter::Kind::kBox, 0, 32, 0}, false, nullptr);
  EXPECT_EQ(misses.room(), 0_cycles);
  EXPECT_FALSE(misses.end(box, 9_cycles, [](const Waiter&) {}));
}

TEST(MissTable, AllThatWaitForALineHearOfIt) {
  MissTable misses;
  misses.prepare(0);
  const int ticket = misses.begin({Waiter::Kind::kLoad, 1, 0, 0}, true, nullptr);
  misses.wait_too(ticket, {Waiter::Kind::kLoad, 1, 0, 0});
  misses.wait_too(ticket, {Waiter::Kind::kLoad, 2, 0, 0});
  std::vector<std::pair<int, int>> heard;
  misses.end(ticket, 5_cycles, [&](const Waiter& w) { heard.emplace_back(w.who, w.times); });
  EXPECT_THAT(heard, ElementsAre(std::pair(1, 2), std::pair(2, 1)));
}

// A core whose units have two partitions, without blocks of a kernel.
struct CoreUnits : testing::Test {
  Machine machine = [] {
    Machine m = machine_of(v100());
    m.limits.partitions = 2;
    m.issue = {1, 2};
    m.line_interval = 4_cycles;
    m.misses = 0;
    return m;
  }();
  Statistics statistics;
  CoreRecord record{.core = 3, .machine = machine, .statistics = &statistics};
  ResidentWarps warps{2};
  CorePorts ports{machine};
  CoreCache cache{machine};
  LoadStoreUnit memory{record, warps, ports, cache};
  TmaEngine tma{machine.line_interval, warps, ports, memory, nullptr};

  void SetUp() override {
    warps.prepare(1, 3);
    memory.prepare();
    memory.connect(tma);
    warps.deal_partitions(0);
    lower::Mbarrier full;
    full.arrivals = 1;
    warps.block(0).mbarriers = BlockMbarriers({full});
  }
  std::vector<BoxLine> lines(int n) const {
    std::vector<BoxLine> out;
    for (int l = 0; l < n; ++l) out.push_back({.line = 100 + l, .sectors = 1, .bytes = 32});
    return out;
  }
};

TEST_F(CoreUnits, WarpsOfOnePartitionShareItsSlots) {
  IssueSlots issue(record);
  Warp &a = warps.warp(0), &b = warps.warp(1), &c = warps.warp(2);
  EXPECT_THAT((std::vector{a.partition, b.partition, c.partition}), ElementsAre(0, 1, 0));
  SegmentCost work;
  work.issue = 5;
  const auto cycles = [](std::int64_t n) { return n * kCycleParts; };
  EXPECT_EQ(issue.take(a, work, 1, 10_cycles).end, cycles(20));
  EXPECT_EQ(issue.take(b, work, 1, 10_cycles).end, cycles(20)) << "another partition's";
  EXPECT_EQ(issue.take(c, work, 1, 10_cycles).begin, cycles(20)) << "behind the first";
  EXPECT_EQ(issue.issue_one(b, 30_cycles), 32_cycles);
  EXPECT_EQ(statistics.stall(Stall::kIssue), 32) << "its time so far";
}

TEST_F(CoreUnits, ABoxIsRequestedLineByLineAndItsBytesReachTheMbarrier) {
  BlockMbarriers& mbarriers = warps.block(0).mbarriers;
  mbarriers.arrive(0, 0, 128, 0_cycles);
  tma.load({.block = 0, .bytes = 128, .lines = lines(3)}, 10_cycles);  // 32 of the bytes lie beyond the tensor
  ASSERT_EQ(warps.next(), 10_cycles);
  tma.run(warps.take().at, 1000_cycles);
  std::vector<Cycle> at;
  for (const MemoryRequest& r : memory.outbox()) at.push_back(r.at);
  EXPECT_THAT(at, ElementsAre(10_cycles, 14_cycles, 18_cycles));
  EXPECT_EQ(warps.block(0).boxes, 1);
  Warp& waits = warps.warp(1);
  waits.state = Warp::State::kWaitsForMbarrier;
  Cycle last{};
  for (const MemoryRequest& r : memory.outbox()) {
    EXPECT_FALSE(mbarriers.over(0, 0).has_value());
    memory.reply({.core = 3, .ticket = r.ticket, .at = last = Cycle(500 + 7 * r.ticket)}, 0_cycles);
  }
  ASSERT_TRUE(mbarriers.over(0, 0).has_value());
  EXPECT_GE(mbarriers.over(0, 0)->at, last);
  EXPECT_EQ(warps.block(0).boxes, 0);
  EXPECT_EQ(warps.next(), mbarriers.over(0, 0)->at) << "the warp that waits goes on then";
}

TEST_F(CoreUnits, AStoreLetsItsWarpGoOnWhenItsLastLineIsAskedFor) {
  tma.store({.block = 0, .bytes = 64, .lines = lines(2), .stores_for = 2}, 10_cycles);
  tma.run(warps.take().at, 12_cycles);
  EXPECT_EQ(memory.outbox().size(), 1U) << "the second is due later";
  tma.run(warps.take().at, 1000_cycles);
  EXPECT_EQ(memory.outbox().size(), 2U);
  const ResidentWarps::Event goes_on = warps.take();
  EXPECT_EQ(goes_on.who, 2);
  EXPECT_EQ(goes_on.at, 18_cycles);
  EXPECT_EQ(memory.stored(), 0_cycles);
  memory.reply({.core = 3, .ticket = memory.outbox()[1].ticket, .at = 700_cycles}, 0_cycles);
  EXPECT_EQ(memory.stored(), 700_cycles);
}

}  // namespace
}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/reservation_table.h"

#include <random>

#include <gtest/gtest.h>

namespace tilescope::sim {
namespace {

TEST(ReservationTable, IsAQueueForThoseWhoComeInOrder) {
  ReservationTable c({32, 1});  // 32 bytes a cycle
  EXPECT_EQ(c.book(100_cycles, 32), 101_cycles);
  EXPECT_EQ(c.book(100_cycles, 64), 103_cycles);
  EXPECT_EQ(c.book(500_cycles, 32), 501_cycles);
}

TEST(ReservationTable, KeepsFractionsOfACycle) {
  ReservationTable c({3, 1});
  Cycle end{};
  for (int i = 0; i < 3000; ++i) end = c.book(0_cycles, 1);
  EXPECT_NEAR(static_cast<double>(end), 1000, 3);
}

TEST(ReservationTable, FillsWhatLiesIdleBeforeEarlierBookings) {
  ReservationTable c({1, 1});
  EXPECT_EQ(c.book(1000_cycles, 200), 1200_cycles);
  EXPECT_EQ(c.book(10_cycles, 5), 15_cycles);
  EXPECT_GT(c.book(1100_cycles, 5), 1200_cycles);
}

TEST(ReservationTable, SpreadsWorkAndLeavesRoomBetween) {
  ReservationTable c({1, 1});
  EXPECT_NEAR(static_cast<double>(c.book(0_cycles, 500, 1000_cycles)), 1000, 32);
  EXPECT_LE(c.book(320_cycles, 100), Cycle(320 + 2 * 100 + 32));  // every other cycle is free
}

TEST(ReservationTable, IsNeverBusyBeforeTheFirstBooking) {
  ReservationTable c({1, 1});
  int busy = 0;
  const auto visit = [&](double, double) { ++busy; };
  EXPECT_EQ(c.visit_busy(40_cycles, 100_cycles, visit), 96_cycles) << "as where others are booked: whole buckets of 16";
  EXPECT_EQ(busy, 0);
  c.book(100_cycles, 4);
  EXPECT_EQ(c.visit_busy(96_cycles, 200_cycles, visit), 192_cycles);
  EXPECT_EQ(busy, 1);
}

TEST(ReservationTable, NeverGivesMoreThanItsRate) {
  std::mt19937 random(1);
  ReservationTable c({1, 1});
  std::vector<std::pair<Cycle, std::int64_t>> done;
  Cycle now{};
  for (int i = 0; i < 5000; ++i) {
    now += Cycle(random() % 8);
    const std::int64_t work = 1 + random() % 9;
    const Cycle from = now + Cycle(random() % 400);
    const Cycle end = c.book(from, work);
    EXPECT_GE(end, from + Cycle(work));
    done.emplace_back(end, work);
  }
  std::sort(done.begin(), done.end());
  std::int64_t sum = 0;
  for (const auto& [end, work] : done) EXPECT_LE(sum += work, end.count() + 16) << "up to cycle " << end;
}

}  // namespace
}  // namespace tilescope::sim

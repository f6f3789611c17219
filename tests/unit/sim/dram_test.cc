// One channel against closed forms.

#include "sim/memory/dram.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace tilescope::sim {
namespace {

// The XSIM pseudo-channel of facts/dram.md, section 2, without refresh.
DramSpec xsim() {
  return {16,
          true,
          {.rcd = 12,
           .rp = 14,
           .ras = 28,
           .rc = 42,
           .rrd = 4,
           .cl = 17,
           .cwl = 7,
           .rtp = 5,
           .wr = 14,
           .wtr = 4,
           .rtw = 4,
           .burst = 2}};
}

// Clocks until all of `count` requests are done, which stand in the queue at once.
Clock served(const DramSpec& spec, int count, const std::function<DramRequest(int)>& request, int* hits = nullptr) {
  DramChannel c(spec);
  for (int i = 0; i < count; ++i) c.push(request(i));
  Clock last = 0;
  for (int i = 0; i < count; ++i) {
    const DramServed s = c.serve(c.next().value());
    last = std::max(last, s.done);
    if (hits != nullptr) *hits += s.row_hit ? 1 : 0;
  }
  EXPECT_FALSE(c.next());
  return last;
}

DramRequest read(std::int64_t bank, std::int64_t row) { return {0, false, bank, row, 1, 0}; }

TEST(Dram, IdleAccessesTakeTheirTimings) {
  const DramTimes t = xsim().t;
  DramChannel c(xsim());
  const auto at = [&](Clock arrival, std::int64_t row) {
    c.push({0, false, 0, row, 1, arrival});
    return c.serve(c.next().value()).done - arrival;
  };
  EXPECT_EQ(at(0, 7), t.rcd + t.cl + t.burst);            // closed
  EXPECT_EQ(at(1000, 7), t.cl + t.burst);                 // open row
  EXPECT_EQ(at(2000, 8), t.rp + t.rcd + t.cl + t.burst);  // another row
}

TEST(Dram, ARowStreamsAtOneBurstEveryBurstTime) {
  int hits = 0;
  const Clock end = served(xsim(), 1000, [](int) { return read(3, 5); }, &hits);
  EXPECT_EQ(end, 12 + 17 + 1000 * 2);
  EXPECT_EQ(hits, 999);
}

TEST(Dram, OneBankWithAlwaysAnotherRowTakesARowCycleEach) {
  const Clock end = served(xsim(), 1000, [](int i) { return read(0, i); });
  EXPECT_NEAR(static_cast<double>(end), 1000 * 42, 42);
}

TEST(Dram, RowsOfManyBanksOverlapUntilTheBusOrActivatesBind) {
  const Clock end = served(xsim(), 4000, [](int i) { return read(i % 16, i); });
  EXPECT_NEAR(static_cast<double>(end), 4000 * 4, 0.02 * 4000 * 4);  // tRRD; the bus would take 2
}

TEST(Dram, AlternatingRowsAreServedRowByRow) {
  int hits = 0;
  served(xsim(), 4096, [](int i) { return read(0, i % 2 + i / 64 * 2); }, &hits);
  EXPECT_GT(hits, 4096 * 7 / 10);  // in order there would be none
}

TEST(Dram, WritesGatherSoThatTheBusSeldomTurns) {
  const auto mixed = [](int i) { return DramRequest{0, i % 2 == 0, i % 2, 0, 4, 0}; };
  const double end = static_cast<double>(served(xsim(), 4000, mixed));
  EXPECT_LT(end, 1.25 * 4000 * 8);  // turning each time would cost 25 clocks in 16
  EXPECT_GT(end, 4000 * 8);
}

TEST(Dram, EveryRequestIsServedOnce) {
  std::mt19937 random(3);
  DramChannel c(xsim());
  std::vector<int> seen(500);
  for (int i = 0; i < 500; ++i)
    c.push({i, random() % 3 == 0, static_cast<std::int64_t>(random() % 16), static_cast<std::int64_t>(random() % 4), 2,
            static_cast<Clock>(random() % 3000)});
  Clock before = 0;
  while (const auto next = c.next()) {
    EXPECT_GE(*next, before);
    before = *next;
    ++seen[static_cast<std::size_t>(c.serve(*next).id)];
  }
  EXPECT_EQ(seen, std::vector<int>(500, 1));
}

TEST(Dram, WithoutRowsEveryAccessIsAHit) {
  DramSpec spec = xsim();
  spec.rows = false;
  int hits = 0;
  served(spec, 100, [](int i) { return read(0, i); }, &hits);
  EXPECT_EQ(hits, 100);
}

}  // namespace
}  // namespace tilescope::sim

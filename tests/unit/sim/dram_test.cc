// SPDX-License-Identifier: Apache-2.0
// One channel against closed forms.

#include "sim/memory/dram.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/sim/dram_specs.h"

namespace tilescope::sim {
namespace {

DramSpec xsim() {
  DramSpec spec = dram_without_bank_groups();
  spec.write_threshold = 8;
  spec.write_idle = 50_nck;
  spec.max_age = 2000_nck;
  return spec;
}

// Clocks until all of `count` requests are done, which stand in the queue at once.
Clock served(const DramSpec& spec, int count, const std::function<DramRequest(int)>& request, int* hits = nullptr,
             int times = 1) {
  DramChannel c(spec);
  for (int i = 0; i < count; ++i) c.push(request(i));
  std::vector<DramServed> all;
  c.run(kForever, all);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(count * times));
  EXPECT_FALSE(c.next());
  Clock last{};
  for (const DramServed& s : all) {
    last = std::max(last, s.done);
    if (hits != nullptr) *hits += s.row_hit ? 1 : 0;
  }
  return last;
}

DramRequest read(std::int64_t bank, std::int64_t row) { return {.bank = bank, .row = row}; }

TEST(Dram, IdleAccessesTakeTheirTimings) {
  const DramSpec spec = xsim();
  const DramTimes& t = spec.t;
  DramChannel c(spec);
  const auto takes = [&](Clock arrival, std::int64_t row) {
    std::vector<DramServed> all;
    c.push({0, false, 0, row, 1, arrival});
    c.run(kForever, all);
    return all.at(0).done - arrival;
  };
  EXPECT_EQ(takes(0_nck, 7), kDramHandshake + t.rcd + t.cl + t.burst);  // closed
  EXPECT_EQ(takes(1000_nck, 7), kDramHandshake + t.cl + t.burst);       // open row
  EXPECT_EQ(takes(2000_nck, 8), conflict_clocks(spec, 1));              // another row
  EXPECT_EQ(conflict_clocks(spec, 1), kDramHandshake + t.rp + t.rcd + t.cl + t.burst);
}

TEST(Dram, ARowStreamsAtOneBurstEveryBurstTime) {
  int hits = 0;
  const Clock end = served(xsim(), 1000, [](int) { return read(3, 5); }, &hits);
  EXPECT_EQ(end, kDramHandshake + Clock(12 + 17 + 1000 * 2));
  EXPECT_EQ(hits, 1000 - 1);  // all but the first
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
  const auto mixed = [](int i) { return DramRequest{.write = i % 2 == 0, .bank = i % 2, .bursts = 4}; };
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
            Clock(random() % 3000)});
  Clock until{};
  while (const auto next = c.next()) {
    EXPECT_GE(*next, until);
    until = *next + Clock(1 + random() % 50);
    std::vector<DramServed> some;
    c.run(until, some);
    for (const DramServed& r : some) ++seen[static_cast<std::size_t>(r.id)];
  }
  EXPECT_EQ(seen, std::vector<int>(500, 1));
}

// Every fourth activate waits for the one four before it; a long window binds where it is the longer one.
TEST(Dram, ActivatesFitTheirWindows) {
  DramSpec spec = xsim();
  const auto spread = [](int i) { return read(i % 16, i); };
  spec.t.faw = 24_nck;
  EXPECT_NEAR(static_cast<double>(served(spec, 4000, spread)), 4000 * 6, 0.02 * 4000 * 6);
  spec.t.aw32 = 320_nck;
  EXPECT_NEAR(static_cast<double>(served(spec, 4000, spread)), 4000 * 10, 0.02 * 4000 * 10);
}

TEST(Dram, ColumnsOfOneBankGroupAreFurtherApart) {
  DramSpec spec = xsim();
  spec.groups = 4;
  spec.t.ccd_l = 4_nck;
  const double one = static_cast<double>(served(spec, 4000, [](int i) { return read(i % 4, 0); }));
  const double all = static_cast<double>(served(spec, 4000, [](int i) { return read(i % 16, 0); }));
  EXPECT_NEAR(one, 4000 * 4, 100);
  EXPECT_NEAR(all, 4000 * 2, 100);
}

// A share rfc / refi of the time is lost, and a row is opened again after each refresh.
TEST(Dram, RefreshTakesItsShare) {
  DramSpec spec = xsim();
  spec.t.rfc = 220_nck;
  spec.t.refi = 3900_nck;
  const double end = static_cast<double>(served(spec, 100000, [](int) { return read(3, 5); }));
  EXPECT_NEAR(end, 100000 * 2 / (1 - 260.0 / 3900), 0.01 * end);
}

// Two reads that wait for nothing but the bus.
// One bank loses rfc_sb in each refi; a stream over all of them goes on at the others. A refresh of all banks at a time
// of the same share would cost both as much.
TEST(Dram, BanksAreRefreshedOneByOne) {
  DramSpec spec = xsim();
  spec.refreshes_banks = true;
  spec.t.rfc_sb = 780_nck;
  spec.t.refi = 3900_nck;
  const auto clocks = [](const DramSpec& s, const std::function<DramRequest(int)>& r, int n) {
    return static_cast<double>(served(s, n, r));
  };
  const auto serial = [](int i) { return read(5, i); };
  EXPECT_NEAR(clocks(spec, serial, 4000), 4000 * 42 / (1 - 780.0 / 3900), 0.02 * 4000 * 42);
  const auto rows = [](int i) { return read(i % 16, i); };
  DramSpec whole = spec;
  whole.refreshes_banks = false;
  whole.t.rfc = 780_nck;
  EXPECT_NEAR(clocks(whole, rows, 20000), 20000 * 4 / (1 - 780.0 / 3900), 0.03 * 20000 * 4);
  // A queue of 32 holds two of each bank, so that those of the resting one stand in the way of the others at last.
  EXPECT_GE(clocks(spec, rows, 20000), 20000 * 4);
  DramSpec deep = spec;
  deep.queue_depth = DramSpec::kNoBound;
  // A bank's 1,250 rows and 20 refreshes take 68,100 of 80,000 clocks; only the last ones wait.
  EXPECT_LT(clocks(deep, rows, 20000), 1.05 * 20000 * 4);
}

TEST(Dram, EachBankIsRefreshedOnceInRefi) {
  DramSpec spec = xsim();
  spec.refreshes_banks = true;
  spec.t.rfc_sb = 100_nck;
  spec.t.refi = 3901_nck;  // sixteen do not divide it
  DramLog log;
  DramChannel c(spec);
  c.watch(log);
  std::vector<DramServed> all;
  for (int i = 0; i < 100; ++i) {
    c.push({.bank = 1, .row = i, .arrival = 3901_nck * i});
    c.run(kForever, all);
  }
  ASSERT_EQ(log.refreshes.size(), 16u * 98 + 1) << "due from the first refi on, until the last read";
  for (std::size_t n = 16; n < log.refreshes.size(); ++n)
    EXPECT_NEAR(static_cast<double>(log.refreshes[n].begin - log.refreshes[n - 16].begin), 3901, 60);
}

// Those that it did and those that are due: of ranks whole, or of each bank, whether requests came meanwhile or not.
TEST(Dram, RefreshesAreCountedUntilAnyTime) {
  DramSpec spec = xsim();
  spec.ranks = 2;
  spec.t.rfc = 260_nck, spec.t.rfc_sb = 100_nck;
  spec.t.refi = 3901_nck;
  for (const bool by_bank : {false, true}) {
    spec.refreshes_banks = by_bank;
    const std::int64_t each = by_bank ? spec.banks : 1;
    const DramChannel idle(spec);
    DramChannel busy(spec);
    std::vector<DramServed> all;
    for (int i = 0; i < 100; ++i) {
      busy.push({.bank = i % 3, .row = i, .arrival = 1000_nck * i});
      busy.run(kForever, all);
    }
    EXPECT_EQ(idle.refreshes(0_nck), 0);
    // The first rank is due at a half of refi, the second at refi, each from there on once in refi.
    EXPECT_EQ(idle.refreshes(1949_nck), 0);
    EXPECT_EQ(idle.refreshes(1950_nck), 1);
    for (const std::int64_t periods : {1, 7, 1000}) {
      const Clock until = spec.t.refi * periods + 100'000_nck;
      const double in_refi = 2.0 * static_cast<double>(each);
      EXPECT_NEAR(static_cast<double>(idle.refreshes(until)), in_refi * static_cast<double>(until.count()) / 3901,
                  in_refi);
      EXPECT_EQ(busy.refreshes(until), idle.refreshes(until)) << periods << (by_bank ? " by bank" : "");
    }
  }
}

TEST(Dram, RanksTakeTurnsWithABubble) {
  DramSpec spec = xsim();
  spec.rows = false;
  spec.ranks = 2;
  spec.t.rtrs = 3_nck;
  const DramTimes& t = spec.t;
  const auto second_in = [&](std::int64_t bank) { return served(spec, 2, [=](int i) { return read(i * bank, 0); }); };
  EXPECT_EQ(second_in(1), kDramHandshake + t.cl + 2 * t.burst);
  EXPECT_EQ(second_in(16), kDramHandshake + t.cl + 2 * t.burst + t.rtrs);
}

// Requests that find a place once more in the queues: a read waits for what is read or written already.
TEST(Dram, AnAddressIsReadOnceForAllWhoWaitForIt) {
  int hits = 0;
  const auto same = [](int) {
    DramRequest r = read(0, 0);
    r.place = 64;
    return r;
  };
  const DramSpec spec = xsim();
  EXPECT_EQ(served(spec, 32, same, &hits), kDramHandshake + spec.t.rcd + spec.t.cl + spec.t.burst);
  EXPECT_EQ(hits, 32 - 1);
}

// A write that merges is a read and, once that is there, a write; the row is open by then.
TEST(Dram, AWriteThatMergesIsReadFirst) {
  const DramSpec spec = xsim();
  const DramTimes& t = spec.t;
  DramChannel c(spec);
  std::vector<DramServed> all;
  c.push({.id = 1, .write = true, .bank = 3, .row = 5, .merges = true});
  EXPECT_EQ(c.waiting_writes(), 1);
  c.run(kForever, all);
  ASSERT_EQ(all.size(), 2u);
  const Clock there = kDramHandshake + t.rcd + t.cl + t.burst;
  EXPECT_TRUE(all[0].merges && !all[0].write && !all[0].row_hit);
  EXPECT_EQ(all[0].done, there);
  EXPECT_TRUE(!all[1].merges && all[1].write && all[1].row_hit);
  // A lone write waits until the banks have rested.
  EXPECT_EQ(all[1].done, kDramHandshake + t.rcd + spec.write_idle + t.cwl + t.burst);
  EXPECT_EQ(c.waiting_writes(), 0);
  EXPECT_EQ(c.activates(), 1);
}

// Each burst passes the bus twice, and the bus turns for a queue at a time.
TEST(Dram, WritesThatMergeTakeTheBusTwice) {
  const auto end = [](bool merges) {
    return static_cast<double>(served(
        xsim(), 8000, [&](int i) { return DramRequest{.write = true, .bank = i / 32 % 16, .merges = merges}; }, nullptr,
        merges ? 2 : 1));
  };
  EXPECT_GE(end(true), 2 * 8000 * 2);
  EXPECT_LE(end(true), 1.5 * 2 * 8000 * 2);
  EXPECT_NEAR(end(false), 8000 * 2, 0.02 * 8000 * 2);
}

TEST(Dram, AReadSharesTheReadOfAWriteThatMerges) {
  DramChannel c(xsim());
  std::vector<DramServed> all;
  c.push({.id = 1, .write = true, .bank = 3, .row = 5, .place = 7, .merges = true});
  c.push({.id = 2, .bank = 3, .row = 5, .place = 7});
  c.run(kForever, all);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].id == 1 && all[0].merges);
  EXPECT_TRUE(all[1].id == 2 && !all[1].write);
  EXPECT_EQ(all[1].done, all[0].done);
  EXPECT_TRUE(all[2].id == 1 && all[2].write);
}

TEST(Dram, AReadOfWhatWaitsToBeWrittenTakesNoBank) {
  DramChannel c(xsim());
  DramRequest r = read(0, 0);
  r.place = 64;
  r.write = true;
  c.push(r);
  r.id = 1;
  r.write = false;
  r.arrival = 10_nck;
  c.push(r);
  std::vector<DramServed> all;
  c.run(kForever, all);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, 1);
  EXPECT_EQ(all[0].done, 10_nck + kDramHandshake);
}

// Rows that take one column each need three commands a burst; with burst and tCCD of 2 one bus is too few.
TEST(Dram, CommandsOfRowsAndColumnsShareABusOrHaveOneEach) {
  DramSpec spec = xsim();
  spec.t.rrd_s = 1_nck;
  const auto scattered = [](int i) { return read(i % 16, i); };
  EXPECT_LT(static_cast<double>(served(spec, 4000, scattered)), 4000 * 2.8);  // a row cycle of 42 over 16 banks
  spec.row_bus = false;
  EXPECT_NEAR(static_cast<double>(served(spec, 4000, scattered)), 4000 * 3, 0.05 * 4000 * 3);
}

// Thirty-two reads of one bank fill a controller without queues at the banks, which then sees nothing of the others.
// Two pseudo-channels of 16 banks each: 0 to 15, 16 to 31.
DramSpec two_pseudo_channels(Clock activate_command) {
  DramSpec spec = xsim();
  spec.pseudo_channels = 2;
  spec.activate_command = activate_command;
  return spec;
}

// Rows of both in turn: each opens one per tRRD of 4, and the bus passes an activate and a precharge for each.
TEST(Dram, PseudoChannelsShareTheBusOfTheirRows) {
  const auto clocks = [](const DramSpec& spec) {
    const std::int64_t banks = 16 * spec.pseudo_channels;
    const Clock end = served(spec, 4000, [&](int i) { return read(i % 2 * 16 % banks + i / 2 % 16, i); });
    return static_cast<double>(end) / 4000;
  };
  EXPECT_NEAR(clocks(two_pseudo_channels(1_nck)), 2, 0.06) << "tRRD of two, and two commands";
  EXPECT_NEAR(clocks(two_pseudo_channels(2_nck)), 3, 0.09) << "the bus";
  EXPECT_NEAR(clocks(two_pseudo_channels(4_nck)), 5, 0.15);
  EXPECT_NEAR(clocks(xsim()), 4, 0.12) << "tRRD of one";
}

// Of two that stream each has its data bus; the column bus passes a command a clock.
TEST(Dram, PseudoChannelsHaveADataBusEach) {
  const auto row = [](int i) { return read(i % 2 * 16, 0); };
  EXPECT_EQ(served(two_pseudo_channels(1_nck), 1000, row), kDramHandshake + Clock(1 + 12 + 17 + 500 * 2));
  EXPECT_EQ(served(two_pseudo_channels(2_nck), 1000, row), kDramHandshake + Clock(2 + 12 + 17 + 500 * 2));
}

TEST(Dram, PseudoChannelsShareTheQueue) {
  DramChannel c(two_pseudo_channels(2_nck));
  for (int i = 0; i < 31; ++i) c.push(read(0, i));
  EXPECT_TRUE(c.accepts(false));
  c.push(read(0, 31));
  EXPECT_FALSE(c.accepts(false)) << "of the other one too";
}

// Scattered reads of 32 B on Ramulator 2.1's HBM2 of two pseudo-channels: one activate in three clocks, less
// refreshes, is 30.3 % of the bus; it reached 30.1 (facts of its timings: HBM2_8Gb, HBM2_2000Mbps).
TEST(Dram, ScatteredReadsOfHbm2AreBoundByTheRowBus) {
  DramSpec spec = two_pseudo_channels(2_nck);
  spec.groups = 4;
  spec.t = {.rcd = 14_nck,
            .rcd_wr = 12_nck,
            .rp = 14_nck,
            .ras = 34_nck,
            .rc = 48_nck,
            .rrd_s = 4_nck,
            .rrd_l = 4_nck,
            .faw = 15_nck,
            .ccd_s = 2_nck,
            .ccd_l = 4_nck,
            .cl = 14_nck,
            .cwl = 5_nck,
            .rtp = 5_nck,
            .wr = 16_nck,
            .wtr_s = 6_nck,
            .wtr_l = 8_nck,
            .rfc = 350_nck,
            .refi = 3900_nck,
            .burst = 2_nck};
  std::mt19937 random(5);
  std::vector<DramRequest> requests;
  for (int i = 0; i < 20000; ++i)
    requests.push_back(read(static_cast<std::int64_t>(random() % 32), static_cast<std::int64_t>(random() % 32768)));
  const Clock end = served(spec, 20000, [&](int i) { return requests[static_cast<std::size_t>(i)]; });
  const double percent = 100 * 20000.0 / static_cast<double>(end);  // a burst of each of two in two clocks
  EXPECT_NEAR(percent, 100 / 3.0 * (1 - 350.0 / 3900), 0.6);
  EXPECT_NEAR(percent, 30.1, 0.6);
}

TEST(Dram, QueuesAtTheBanksShowMoreOfWhatWaits) {
  DramSpec spec = xsim();
  const auto runs = [](int i) { return read(i / 8 % 16, i); };
  const double window = static_cast<double>(served(spec, 4096, runs));
  spec.per_bank_queue_depth = 8;
  EXPECT_LT(static_cast<double>(served(spec, 4096, runs)), 0.85 * window);
}

// Four columns, and the row is closed for the older request of another row as soon as tRAS and tRTP let it.
TEST(Dram, ARowMakesRoomAfterAsManyColumnsAsItsCap) {
  DramSpec spec = xsim();
  spec.t.ras = spec.t.rtp = 1_nck;
  const auto order = [&] {
    DramChannel c(spec);
    for (int i = 0; i < 7; ++i) c.push({.id = i, .row = i == 1 ? 1 : 0});
    std::vector<DramServed> all;
    c.run(kForever, all);
    std::vector<int> ids;
    for (const DramServed& s : all) ids.push_back(s.id);
    return ids;
  };
  EXPECT_EQ(order(), (std::vector<int>{0, 2, 3, 4, 5, 6, 1}));
  spec.row_hit_cap = 4;
  EXPECT_EQ(order(), (std::vector<int>{0, 2, 3, 4, 1, 5, 6}));
}

// A file may say how many bank groups there are and not how many banks.
TEST(Dram, OfALevelWhoseBanksAreNotKnownIsOneBankWithoutRows) {
  arch::DramLevel level;
  level.burst = 4;
  level.bank_groups = 4;
  level.row = arch::Bytes{1024};
  const DramSpec spec = dram_spec(level);
  EXPECT_EQ(served(spec, 100, [](int i) { return read(0, i); }), kDramHandshake + 100 * 4_nck);
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

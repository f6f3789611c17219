// SPDX-License-Identifier: Apache-2.0
// What a controller's file chooses: watermarks of writes, queues, page policies. Sequences of commands are derived by
// hand from the timings; the numbers below are clocks of
//   rcd 12, rp 14, ras 28, rc 42, rrd 4, ccd 2, cl 17, cwl 7, rtp 5, wr 14, wtr 4, burst 2,
// where a request is looked at in the clock after it arrives. So a row that was closed is read 1 + 12 = 13 clocks after
// a lone request comes, a write follows a read after 17 + 2 + 2 - 7 = 14, a read follows a write after 7 + 2 + 4 = 13.

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/memory/dram.h"
#include "tests/unit/sim/dram_specs.h"

namespace tilescope::sim {
namespace {

using arch::PagePolicy;
using arch::RequestQueues;
using testing::ElementsAre;
using testing::ElementsAreArray;

// Column commands of all requests in their order.
struct Column {
  bool write = false;
  Clock at{};
  bool operator==(const Column&) const = default;
};
void PrintTo(const Column& c, std::ostream* out) { *out << (c.write ? 'W' : 'R') << c.at; }

std::vector<Column> columns_of(const DramSpec& spec, const std::vector<DramRequest>& requests) {
  DramChannel c(spec);
  DramLog log;
  c.watch(log);
  for (const DramRequest& r : requests) c.push(r);
  std::vector<DramServed> served;
  c.run(kForever, served);
  EXPECT_EQ(served.size(), requests.size());
  std::vector<Column> columns;
  for (const DramLog::Column& l : log.columns)
    columns.push_back({l.write, l.begin - (l.write ? spec.t.cwl : spec.t.cl)});
  return columns;
}

std::vector<Column> run_of(bool write, std::int64_t first, int count) {
  std::vector<Column> run;
  for (int i = 0; i < count; ++i) run.push_back({write, Clock(first + 2 * i)});
  return run;
}

std::vector<Column> joined(std::initializer_list<std::vector<Column>> runs) {
  std::vector<Column> all;
  for (const auto& run : runs) all.insert(all.end(), run.begin(), run.end());
  return all;
}

// 8 writes of bank 1 among 20 reads of bank 0, all there at once.
std::vector<DramRequest> reads_and_writes() {
  std::vector<DramRequest> requests;
  for (int i = 0; i < 28; ++i) requests.push_back({.id = i, .write = i >= 20, .bank = i >= 20 ? 1 : 0});
  return requests;
}

// Eight are no fewer than the high watermark: seven go, from clock 13 on, until one is left. It turns back as the
// seventh is sent, at 25: the row of the reads opens at 26 and is read from 38 on, when the bus has turned, too. After
// the last read, at 76, nothing is left but the eighth write, whose row is open.
TEST(DramPolicy, WritesGoFromTheHighWatermarkToTheLowOne) {
  DramSpec spec = dram_without_bank_groups();
  spec.write_high = 4;
  spec.write_low = 1;
  EXPECT_THAT(columns_of(spec, reads_and_writes()),
              ElementsAreArray(joined({run_of(true, 13, 7), run_of(false, 38, 20), run_of(true, 76 + 14, 1)})));
}

// A watermark that is not reached leaves all writes to the end; without reads, those beyond the threshold go at once
// and the others after the idle time.
TEST(DramPolicy, BelowTheHighWatermarkReadsGoFirst) {
  DramSpec spec = dram_without_bank_groups();
  spec.write_high = 9;
  EXPECT_THAT(columns_of(spec, reads_and_writes()),
              ElementsAreArray(joined({run_of(false, 13, 20), run_of(true, 51 + 14, 8)})));
  spec.write_threshold = 8;
  spec.write_idle = 50_nck;  // then the row opens, at 51 + 50
  EXPECT_THAT(columns_of(spec, reads_and_writes()),
              ElementsAreArray(joined({run_of(false, 13, 20), run_of(true, 51 + 50 + 12, 8)})));
}

// Reads that were at their bank as the writes begin wait there no longer: 4 reads come, and 4 writes at clock 14, when
// one read (13) has gone. The writes' row is open at 14 + 12, but the bus turns until 13 + 14 = 27; the fourth is sent
// at 33, and the other reads follow.
TEST(DramPolicy, ReadsWaitWhileWritesDrain) {
  DramSpec spec = dram_without_bank_groups();
  spec.write_high = 4;
  std::vector<DramRequest> requests;
  for (int i = 0; i < 4; ++i) requests.push_back({.id = i});
  for (int i = 4; i < 8; ++i) requests.push_back({.id = i, .write = true, .bank = 1, .arrival = 13_nck});
  EXPECT_THAT(columns_of(spec, requests),
              ElementsAreArray(joined({run_of(false, 13, 1), run_of(true, 13 + 14, 4), run_of(false, 33 + 13, 3)})));
}

// Banks keep what is in their queues: the writes go to theirs, and reads that are in the other bank's go on.
TEST(DramPolicy, WatermarksLeaveTheQueuesOfBanksAlone) {
  DramSpec spec = dram_without_bank_groups();
  spec.per_bank_queue_depth = 8;
  spec.write_high = 4;
  std::vector<DramRequest> requests;
  for (int i = 0; i < 8; ++i) requests.push_back({.id = i});
  for (int i = 8; i < 12; ++i) requests.push_back({.id = i, .write = true, .bank = 1, .arrival = 13_nck});
  const std::vector<Column> columns = columns_of(spec, requests);
  ASSERT_EQ(columns.size(), 12U);
  EXPECT_THAT(std::vector(columns.begin(), columns.begin() + 8), ElementsAreArray(run_of(false, 13, 8)));
}

// One queue of four for both, reads and writes in turn (R0 W1 R2 ...), of one row. A read leaves its place to the next
// request. At 13, 15, 17, 19 reads 0, 2, 4, 6 go, as the bus need not turn; then 1, 3, 5, 7 wait, and go from 19 + 14
// on with 9, 11, 13 that come meanwhile; then 8, 10, 12, 14 wait.
TEST(DramPolicy, ReadsAndWritesOfOneQueueGoInOneOrder) {
  DramSpec spec = dram_without_bank_groups();
  spec.queues = RequestQueues::kShared;
  spec.queue_depth = 4;
  std::vector<DramRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back({.id = i, .write = i % 2 == 1});
  std::vector<Column> columns = columns_of(spec, requests);
  columns.resize(15);
  EXPECT_THAT(columns,
              ElementsAreArray(joined({run_of(false, 13, 4), run_of(true, 33, 7), run_of(false, 45 + 13, 4)})));
}

TEST(DramPolicy, AQueueForBothTakesAsManyOfBoth) {
  DramSpec spec = dram_without_bank_groups();
  const auto accepts = [&](bool write) {
    DramChannel c(spec);
    for (int i = 0; i < 32; ++i) c.push({.id = i, .row = i});
    return c.accepts(write);
  };
  EXPECT_FALSE(accepts(false));
  EXPECT_TRUE(accepts(true));
  spec.queues = RequestQueues::kShared;
  EXPECT_FALSE(accepts(false));
  EXPECT_FALSE(accepts(true));
}

// Three rows of bank 0 and one of bank 1. Queues of three take them all: bank 1's row opens a tRRD after the first. In
// queues of two the third holds up what is behind it until the first is read, at 13; bank 1's row opens then, at 14.
TEST(DramPolicy, AFullQueueOfABankHoldsUpThoseBehind) {
  DramSpec spec = dram_without_bank_groups();
  spec.queues = RequestQueues::kPerBank;
  const auto done_of_last = [&](std::int64_t depth) -> std::int64_t {
    spec.queue_depth = depth;
    DramChannel c(spec);
    for (int i = 0; i < 4; ++i) c.push({.id = i, .bank = i / 3, .row = i});
    std::vector<DramServed> served;
    c.run(kForever, served);
    for (const DramServed& s : served)
      if (s.id == 3) return s.done.count();
    return 0;
  };
  EXPECT_EQ(done_of_last(3), 1 + 4 + 12 + 17 + 2);
  EXPECT_EQ(done_of_last(2), 14 + 12 + 17 + 2);
}

TEST(DramPolicy, AQueueOfABankAcceptsWhatItsBankHasRoomFor) {
  DramSpec spec = dram_without_bank_groups();
  spec.queues = RequestQueues::kPerBank;
  spec.queue_depth = 2;
  DramChannel c(spec);
  std::vector<DramServed> served;
  for (int i = 0; i < 2; ++i) c.push({.id = i, .row = i});
  EXPECT_FALSE(c.accepts(false, 5)) << "what stands before it goes first";
  c.run(2_nck, served);
  EXPECT_FALSE(c.accepts(false, 0));
  EXPECT_TRUE(c.accepts(true, 5));
}

// --- rows

struct Rows {
  Clock last{};
  std::int64_t activates = 0;
  bool operator==(const Rows&) const = default;
};
void PrintTo(const Rows& r, std::ostream* out) { *out << r.activates << " activates, " << r.last; }

Rows rows_of(const DramSpec& spec, const std::vector<DramRequest>& requests) {
  DramChannel c(spec);
  for (const DramRequest& r : requests) c.push(r);
  std::vector<DramServed> served;
  c.run(kForever, served);
  Rows rows{.activates = c.activates()};
  for (const DramServed& s : served) rows.last = std::max(rows.last, s.done);
  return rows;
}

std::vector<DramRequest> of_one_row(int count) {
  std::vector<DramRequest> requests;
  for (int i = 0; i < count; ++i) requests.push_back({.id = i});
  return requests;
}

// Each request opens its row again, a row cycle (42) after the one before; unless another one needs the row.
TEST(DramPolicy, ClosedPagesOpenARowForEachRequest) {
  DramSpec spec = dram_without_bank_groups();
  EXPECT_EQ(rows_of(spec, of_one_row(10)), (Rows{Clock(1 + 12 + 17 + 10 * 2), 1}));
  spec.page_policy = PagePolicy::kClosed;
  EXPECT_EQ(rows_of(spec, of_one_row(10)), (Rows{Clock(1 + 9 * 42 + 12 + 17 + 2), 10}));
  spec.page_policy = PagePolicy::kClosedAdaptive;
  EXPECT_EQ(rows_of(spec, of_one_row(10)), (Rows{Clock(1 + 12 + 17 + 10 * 2), 1}));
}

// A lone read of another row, long after, has no row to close first. After a write it does as well once the bank has
// recovered: 1 + 12 + 7 + 2 + 14 = 36 is when the row may close, + 14 when the next may open, + 12 when it is read.
TEST(DramPolicy, ClosedPagesSpareTheNextRowThePrecharge) {
  const auto latency = [](PagePolicy policy, std::int64_t arrival, bool write_first) {
    DramSpec spec = dram_without_bank_groups();
    spec.page_policy = policy;
    return rows_of(spec, {{.write = write_first}, {.id = 1, .row = 1, .arrival = Clock(arrival)}}).last.count() -
           arrival;
  };
  EXPECT_EQ(latency(PagePolicy::kOpen, 1000, false), 1 + 14 + 12 + 17 + 2);
  for (const PagePolicy p : {PagePolicy::kClosed, PagePolicy::kClosedAdaptive}) {
    EXPECT_EQ(latency(p, 1000, false), 1 + 12 + 17 + 2);
    EXPECT_EQ(latency(p, 20, true), 36 + 14 + 12 + 17 + 2 - 20);
  }
}

// On the row bus of HBM a row takes an activate alone, as an auto-precharge is part of the column command: of scattered
// reads of two pseudo-channels each opens one in tRRD (4), so that there are two clocks for a read, and an activate of
// two holds the bus for both. With open pages a precharge is a command of its own: three.
TEST(DramPolicy, AnAutoPrechargeTakesNoCommand) {
  DramSpec spec = dram_without_bank_groups();
  spec.pseudo_channels = 2;
  spec.activate_command = 2_nck;
  std::vector<DramRequest> requests;
  for (int i = 0; i < 4000; ++i) requests.push_back({.id = i, .bank = i % 2 * 16 + i / 2 % 16, .row = i});
  const auto clocks = [&] { return static_cast<double>(rows_of(spec, requests).last) / 4000; };
  EXPECT_NEAR(clocks(), 3, 0.06);
  spec.page_policy = PagePolicy::kClosed;
  EXPECT_NEAR(clocks(), 2, 0.04);
}

// The row is read at 13. A second read that the controller sees before 13 + 100 finds it open; from then on it does
// not. One of another row is spared the precharge, as soon as that is over.
TEST(DramPolicy, AnIdleRowClosesAfterItsTime) {
  DramSpec spec = dram_without_bank_groups();
  spec.page_policy = PagePolicy::kTimeout;
  spec.page_timeout = 100_nck;
  const auto latency = [&](std::int64_t arrival, std::int64_t row) {
    return rows_of(spec, {{}, {.id = 1, .row = row, .arrival = Clock(arrival)}}).last.count() - arrival;
  };
  EXPECT_EQ(latency(111, 0), 1 + 17 + 2);
  EXPECT_EQ(latency(112, 0), 14 + 12 + 17 + 2 + 1) << "the row closes as it is asked for";
  EXPECT_EQ(latency(1000, 0), 1 + 12 + 17 + 2);
  EXPECT_EQ(latency(111, 1), 1 + 14 + 12 + 17 + 2);
  EXPECT_EQ(latency(122, 1), 1 + 4 + 12 + 17 + 2) << "closing since 113, until 127";
  EXPECT_EQ(latency(1000, 1), 1 + 12 + 17 + 2);
}

TEST(DramPolicy, RefreshesClosePagesThatAreOpen) {
  for (const PagePolicy p :
       {PagePolicy::kOpen, PagePolicy::kClosed, PagePolicy::kClosedAdaptive, PagePolicy::kTimeout}) {
    DramSpec spec = dram_without_bank_groups();
    spec.t.rfc = 100_nck;
    spec.t.refi = 1000_nck;
    spec.page_policy = p;
    spec.page_timeout = 500_nck;
    // The open row closes at 1000, and the refresh begins 14 later; where it is closed already, at once.
    const std::int64_t begin = p == PagePolicy::kOpen ? 1014 : 1000;
    EXPECT_EQ(rows_of(spec, {{}, {.id = 1, .arrival = 1001_nck}}).last.count(), begin + 100 + 12 + 17 + 2);
  }
}

// --- all of them

DramSpec any_policy(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  DramSpec spec = dram_without_bank_groups();
  spec.pseudo_channels = 1 + below(2);
  spec.groups = 4;
  spec.t.ccd_l = 3_nck;
  spec.t.rrd_l = 6_nck;
  spec.t.wtr_l = 9_nck;
  spec.t.faw = 20_nck;
  if (below(2) == 0)
    spec.t.refi = 1000_nck, spec.t.rfc = 100_nck, spec.t.rfc_sb = 60_nck, spec.refreshes_banks = below(2) == 0;
  spec.queues = static_cast<RequestQueues>(below(3));
  spec.page_policy = static_cast<PagePolicy>(below(4));
  spec.page_timeout = Clock(1 + below(60));
  spec.queue_depth = spec.queues_by_bank() ? 1 + below(4) : 4 + below(30);
  if (!spec.queues_by_bank() && below(2) == 0) spec.per_bank_queue_depth = 1 + below(6);
  if (spec.parts_writes() && below(3) > 0) {
    spec.write_high = 1 + below(static_cast<int>(spec.queue_depth));
    spec.write_low = below(static_cast<int>(spec.write_high));
  }
  if (spec.parts_writes()) spec.write_threshold = below(6), spec.write_idle = Clock(below(80));
  if (below(2) == 0) spec.row_hit_cap = 1 + below(5);
  if (below(2) == 0) spec.max_age = 200_nck;
  return spec;
}

std::vector<DramRequest> any_requests(std::mt19937& random, const DramSpec& spec) {
  std::vector<DramRequest> requests;
  Clock at{};
  for (int i = 0; i < 300; ++i) {
    at += random() % 40 == 0 ? Clock(random() % 20000) : Clock(random() % 5);
    requests.push_back({i, random() % 3 == 0, static_cast<std::int64_t>(random()) % (spec.banks * spec.pseudo_channels),
                        static_cast<std::int64_t>(random() % 3), 1 + static_cast<std::int64_t>(random() % 2), at});
  }
  return requests;
}

// Whatever the policy: every request is served, once and after it came; a channel that is run in steps says the same,
// and so does one that is watched, which leaves out no refresh.
RC_GTEST_PROP(DramPolicy, ServesEveryRequestOnceHoweverItIsRun, ()) {
  std::mt19937 random(*rc::gen::inRange<unsigned>(0, 1U << 30));
  const DramSpec spec = any_policy(random);
  const std::vector<DramRequest> requests = any_requests(random, spec);
  std::vector<std::vector<DramServed>> runs;
  std::vector<std::int64_t> activates;
  for (const int how : {0, 1, 2}) {
    DramChannel c(spec);
    DramLog log;
    if (how == 1) c.watch(log);
    for (const DramRequest& r : requests) c.push(r);
    std::vector<DramServed>& served = runs.emplace_back();
    if (how == 2)
      while (const auto next = c.next()) c.run(*next + Clock(1 + random() % 50), served);
    else
      c.run(kForever, served);
    RC_ASSERT(!c.next());
    activates.push_back(c.activates());
  }
  std::vector<int> seen(requests.size());
  for (const DramServed& s : runs[0]) {
    const auto id = static_cast<std::size_t>(s.id);
    ++seen[id];
    RC_ASSERT(s.write == requests[id].write);
    RC_ASSERT(s.done >= requests[id].arrival + kDramHandshake + (s.write ? spec.t.cwl : spec.t.cl) + spec.t.burst);
  }
  RC_ASSERT(seen == std::vector<int>(requests.size(), 1));
  if (spec.page_policy == PagePolicy::kClosed) RC_ASSERT(activates[0] >= std::ssize(requests));
  for (const std::size_t other : {1U, 2U}) {
    RC_ASSERT(activates[other] == activates[0]);
    RC_ASSERT(runs[other].size() == runs[0].size());
    for (std::size_t i = 0; i < runs[0].size(); ++i) {
      RC_ASSERT(runs[other][i].id == runs[0][i].id);
      RC_ASSERT(runs[other][i].done == runs[0][i].done);
    }
  }
}

}  // namespace
}  // namespace tilescope::sim

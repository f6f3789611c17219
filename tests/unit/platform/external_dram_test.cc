// SPDX-License-Identifier: Apache-2.0
// What a user's memory is asked for: whole bursts of the sectors, each once, whatever lies between them.

#include "sim/memory/external_dram.h"

#include <limits>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/common/report.h"

namespace tilescope::sim {
namespace {

// Answers each request some clocks after it arrives, in the order of these.
struct Recorder final : ForeignMemory<Clock> {
  explicit Recorder(std::vector<ForeignRequest<Clock>>& s) : seen(s) {}
  void request(std::span<const ForeignRequest<Clock>> r) override {
    seen.insert(seen.end(), r.begin(), r.end());
    for (const ForeignRequest<Clock>& q : r) due.emplace(q.arrival + Clock(q.id * 7919 % 50), q.id);
  }
  void advance(Clock until, std::size_t open, std::vector<ForeignAnswer<Clock>>& answers) override {
    RC_ASSERT(open == due.size());
    for (; !due.empty() && due.begin()->first < until; due.erase(due.begin()))
      answers.push_back({due.begin()->second, due.begin()->first, false});
  }
  std::vector<ForeignRequest<Clock>>& seen;
  std::multimap<Clock, std::uint64_t> due;
};

RC_GTEST_PROP(ExternalDram, IsAskedForEachBurstOnce, ()) {
  const std::int64_t sector = 32, burst = *rc::gen::element<std::int64_t>(16, 32, 64), line = 128;
  std::vector<ForeignRequest<Clock>> seen;
  ExternalDram dram(std::make_unique<Recorder>(seen), "a memory", burst, 4, 1);
  std::set<std::int64_t> expected;
  std::int64_t accesses = *rc::gen::inRange<std::int64_t>(1, 20);
  std::vector<DramServed> served;
  for (std::int64_t i = 0; i < accesses; ++i) {
    const auto sectors = *rc::gen::inRange<std::uint32_t>(1, 16);
    std::set<std::int64_t> bursts;
    for (std::int64_t byte = 0; byte < line; ++byte)
      if ((sectors >> (byte / sector) & 1U) != 0) bursts.insert((i * line + byte) / burst);
    expected.insert(bursts.begin(), bursts.end());
    dram.push({.request = {.id = static_cast<int>(i),
                           .write = *rc::gen::arbitrary<bool>(),
                           .bursts = static_cast<std::int64_t>(bursts.size()),
                           .arrival = Clock(*rc::gen::inRange(0, 200))},
               .channel = i % 4,
               .line_address = i * line,
               .sectors = sectors,
               .sector_bytes = sector});
  }
  for (Clock until = 10_nck; dram.next() != DramModel::kNever; until += 10_nck) {
    RC_ASSERT(until < 1000_nck);
    dram.run(until, served);
  }
  std::multiset<std::int64_t> asked;
  for (const ForeignRequest<Clock>& r : seen)
    for (std::int64_t a = r.address; a < r.address + r.bytes; a += burst) asked.insert(a / burst);
  RC_ASSERT(asked == std::multiset<std::int64_t>(expected.begin(), expected.end()));
  RC_ASSERT(std::ssize(served) == accesses);
  std::set<int> ids;
  for (const DramServed& s : served) ids.insert(s.id);
  RC_ASSERT(std::ssize(ids) == accesses);
  for (std::int64_t c = 0; c < 4; ++c) RC_ASSERT(dram.waiting_writes(c) == 0);
}

// However long nothing was asked of it before.
TEST(ExternalDram, HasItsTimeFromWhenARequestArrives) {
  std::vector<ForeignRequest<Clock>> seen;
  ExternalDram dram(std::make_unique<Recorder>(seen), "a memory", 32, 1, 1);
  std::vector<DramServed> served;
  dram.run(100_nck, served);
  constexpr Clock kArrival = 3 * ForeignRequests<Clock>::kPatience;
  dram.push({.request = {.bursts = 1, .arrival = kArrival}, .sectors = 1, .sector_bytes = 32});
  dram.run(kArrival, served);
  EXPECT_TRUE(served.empty());
  dram.run(kArrival + 100_nck, served);
  EXPECT_EQ(served.size(), 1);
}

// Of the controller that its pseudo-channels share, as evictors of our channels wait.
TEST(ExternalDram, CountsWaitingWritesByController) {
  std::vector<ForeignRequest<Clock>> seen;
  ExternalDram dram(std::make_unique<Recorder>(seen), "a memory", 32, 4, 2);
  dram.push(
      {.request = {.write = true, .bursts = 1, .arrival = 5_nck}, .channel = 1, .sectors = 1, .sector_bytes = 32});
  EXPECT_EQ(dram.waiting_writes(0), 1);
  EXPECT_EQ(dram.waiting_writes(1), 1);
  EXPECT_EQ(dram.waiting_writes(2), 0);
  std::vector<DramServed> served;
  dram.run(100_nck, served);
  EXPECT_EQ(dram.waiting_writes(0), 0);
}

struct Late final : ForeignMemory<Clock> {
  void request(std::span<const ForeignRequest<Clock>> r) override {
    for (const ForeignRequest<Clock>& q : r) asked.push_back(q.id);
  }
  void advance(Clock, std::size_t, std::vector<ForeignAnswer<Clock>>& answers) override {
    for (const std::uint64_t id : asked) answers.push_back({id, Clock::max(), false});
    asked.clear();
  }
  std::vector<std::uint64_t> asked;
};

TEST(ExternalDram, RefusesAnAnswerThatLiesTooFarAhead) {
  ExternalDram dram(std::make_unique<Late>(), "a memory", 32, 1, 1);
  dram.push({.request = {.bursts = 1, .arrival = 5_nck}, .sectors = 1, .sector_bytes = 32});
  std::vector<DramServed> served;
  EXPECT_THROW(dram.run(10_nck, served), SimError);
}

}  // namespace
}  // namespace tilescope::sim

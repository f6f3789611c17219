// SPDX-License-Identifier: Apache-2.0
// What lies behind the cores and has room for few at a time: places at a slice, lines under way into one, the ports of
// clusters, the way between partitions, translations. Requests made by hand, whose replies are known to the cycle.

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "arch/hierarchy.h"
#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/address_map.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/tlb.h"
#include "tests/support/paths.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

constexpr std::int64_t kHit = 200, kMiss = 500;  // idle
constexpr std::int64_t kForward = 99;            // of a hit: half of all but the cycle of the slice's port
constexpr std::int64_t kPort = 1;

// One slice that serves a sector a cycle, and the DRAM of a V100 at the cores' clock.
MemorySpec one_slice() {
  MemorySpec m = machine_of(chip("v100")).memory;
  m.slices = 1;
  m.slice_rate = {32, 1};
  m.request_bytes = 0;
  m.link_rate.reset();
  m.tlb.reset();
  m.cache_latency = Cycle(kHit);
  m.dram_latency = Cycle(kMiss);
  m.clocks = {};
  return m;
}

// Requests in their order, each of the sectors of one line, to a memory that holds `held` lines; when each is answered.
class Requests {
 public:
  explicit Requests(const MemorySpec& spec) : memory_(spec, statistics_) {}

  void hold(std::int64_t line, int core = 0) { memory_.touch(core, line, 0xf, false); }
  void ask(int core, std::int64_t line, std::int64_t at = 0, bool write = false, std::uint32_t sectors = 1) {
    const MemoryRequest r{core, count_++, write, line, sectors, Cycle(at)};
    memory_.run({&r, 1}, {}, replies_);
  }
  std::vector<std::int64_t> replies() {
    while (const auto next = memory_.next()) memory_.run({}, *next + 1_cycles, replies_);
    std::vector<std::int64_t> at(static_cast<std::size_t>(count_), -1);
    for (const MemoryReply& r : replies_) at[static_cast<std::size_t>(r.ticket)] = r.at.count();
    return at;
  }
  Statistics& statistics() { return statistics_; }

 private:
  Statistics statistics_;
  DeviceMemory memory_;
  std::vector<MemoryReply> replies_;
  int count_ = 0;
};

// Hits of one line by cores 0, 1, ... at once.
std::vector<std::int64_t> hits_at_once(const MemorySpec& spec, int count) {
  Requests r(spec);
  r.hold(0);
  for (int core = 0; core < count; ++core) r.ask(core, 0);
  return r.replies();
}

TEST(SliceQueue, LetsSoManyRequestsOnTheirWay) {
  constexpr std::int64_t kHeld = kForward + kPort;
  for (const int places : {1, 2, 5}) {
    MemorySpec spec = one_slice();
    spec.slice_queue = places;
    std::vector<std::int64_t> expected;
    for (int k = 0; k < 10; ++k) expected.push_back(kHit + k / places * kHeld + k % places);
    EXPECT_EQ(hits_at_once(spec, 10), expected) << places;
  }
  EXPECT_EQ(hits_at_once(one_slice(), 4), (std::vector<std::int64_t>{200, 201, 202, 203})) << "no bound";
}

// Core 0's second request waits behind its first one, and takes no place of the other slice meanwhile.
TEST(SliceQueue, WhatWaitsBehindAnotherRequestHoldsNoPlace) {
  MemorySpec spec = one_slice();
  spec.slices = 2;
  spec.slice_queue = 1;
  const AddressMap map({.slices = 2});
  const std::int64_t here = 0, there = map.slice(1) == map.slice(0) ? 2 : 1;
  Requests r(spec);
  r.hold(here);
  r.hold(there);
  r.ask(1, here);
  r.ask(0, here);   // sent at 100
  r.ask(0, there);  // sent at 100 at the earliest
  r.ask(2, there, 3);
  EXPECT_EQ(r.replies(), (std::vector<std::int64_t>{200, 300, 303, 203}));
}

// Cores that read lines of chance, each in its order. Which of two cores comes first in one cycle is the simulator's
// choice, and all that follows depends on it; so each reply is computed anew from the order in which its slice replied:
// a request goes once its core's last one has gone and its slice has a place, and a slice takes first what waits for it
// longest.
RC_GTEST_PROP(SliceQueue, ServesEachCoreOnceItsSliceHasAPlace, ()) {
  // A port's bookings that reach the end of a bucket of 16 cycles have one end: by so many places may it be off.
  constexpr std::int64_t kOff = 2;
  constexpr std::size_t kRequests = 60;
  MemorySpec spec = one_slice();
  spec.slices = *rc::gen::inRange<std::int64_t>(1, 5);
  spec.slice_queue = *rc::gen::inRange<std::int64_t>(1, 4);
  const AddressMap map({.slices = spec.slices});
  const auto places = static_cast<std::size_t>(spec.slice_queue);
  std::vector<std::deque<std::size_t>> of_core(*rc::gen::inRange<std::size_t>(1, 6));
  std::vector<std::size_t> slice_of(kRequests);
  Requests r(spec);
  for (std::int64_t line = 0; line < 20; ++line) r.hold(line);
  for (std::size_t k = 0; k < kRequests; ++k) {
    const auto core = *rc::gen::inRange<std::size_t>(0, of_core.size());
    const auto line = *rc::gen::inRange<std::int64_t>(0, 20);
    of_core[core].push_back(k);
    slice_of[k] = static_cast<std::size_t>(map.slice(line));
    r.ask(static_cast<int>(core), line);
  }
  std::vector<std::int64_t> ends = r.replies();  // when requests leave their slice's port
  for (std::int64_t& end : ends) end -= kHit - kForward - kPort;

  struct Slice {
    std::multiset<std::int64_t> to_come;
    std::vector<std::int64_t> ends;  // of what it took
    std::int64_t since = 0;          // when the wait of the last one began
  };
  std::vector<Slice> slices(static_cast<std::size_t>(spec.slices));
  for (std::size_t k = 0; k < kRequests; ++k) slices[slice_of[k]].to_come.insert(ends[k]);
  std::vector<std::int64_t> sent(of_core.size(), 0);  // each core's last request
  std::size_t taken = 0;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t c = 0; c < of_core.size(); ++c) {
      if (of_core[c].empty()) continue;
      const std::size_t k = of_core[c].front();
      Slice& s = slices[slice_of[k]];
      if (ends[k] != *s.to_come.begin()) continue;
      const std::size_t count = s.ends.size();
      const std::int64_t last = count == 0 ? 0 : s.ends.back();
      if (last < ends[k]) RC_ASSERT(s.since <= sent[c]);
      s.since = sent[c];
      sent[c] = std::max(sent[c], count < places ? 0 : s.ends[count - places]);
      RC_ASSERT(std::abs(ends[k] - (std::max(last, sent[c] + kForward) + kPort)) <= kOff);
      s.ends.push_back(ends[k]);
      s.to_come.erase(s.to_come.begin());
      of_core[c].pop_front();
      ++taken;
      more = true;
    }
  }
  RC_ASSERT(taken == kRequests);
}

// Core 0 cannot send to the slice that is full, and so not to the other one either.
TEST(SliceQueue, AFullOneKeepsWhatItsSendersHaveForOthers) {
  MemorySpec spec = one_slice();
  spec.slices = 2;
  spec.slice_queue = 1;
  const AddressMap map({.slices = 2});
  const std::int64_t here = 0, there = map.slice(1) == map.slice(0) ? 2 : 1;
  ASSERT_NE(map.slice(here), map.slice(there));
  Requests r(spec);
  r.hold(here);
  r.hold(there);
  r.ask(1, here);
  r.ask(0, here);
  r.ask(0, there);
  EXPECT_EQ(r.replies(), (std::vector<std::int64_t>{200, 300, 300}));
}

// Lines of so many channels, each in its own.
std::vector<std::int64_t> lines_of_channels(const MemorySpec& spec, std::size_t count) {
  const AddressMap map(spec.map);
  std::vector<std::int64_t> lines, channels;
  for (std::int64_t line = 0; lines.size() < count; ++line) {
    const std::int64_t channel = map.dram(line).channel;
    if (std::find(channels.begin(), channels.end(), channel) != channels.end()) continue;
    lines.push_back(line);
    channels.push_back(channel);
  }
  return lines;
}

std::vector<std::int64_t> misses_at_once(const MemorySpec& spec, std::size_t count) {
  Requests r(spec);
  for (const std::int64_t line : lines_of_channels(spec, count)) r.ask(0, line);
  return r.replies();
}

// What misses takes a register from when the slice has looked it up until the line has come.
TEST(SliceMisses, AreUnderWaySoManyAtATime) {
  const std::vector<std::int64_t> free = misses_at_once(one_slice(), 8);
  for (std::size_t k = 0; k < free.size(); ++k) EXPECT_EQ(free[k], free[0] + static_cast<std::int64_t>(k));
  const std::int64_t back = kHit - kForward - kPort, held = free[0] - back - (kForward + kPort);
  EXPECT_GT(held, 200);
  EXPECT_LE(held, kMiss - kHit) << "no row is open";
  for (const int registers : {1, 2, 4}) {
    MemorySpec spec = one_slice();
    spec.slice_misses = registers;
    std::vector<std::int64_t> expected;
    for (int k = 0; k < 8; ++k) expected.push_back(free[0] + k / registers * held + k % registers);
    EXPECT_EQ(misses_at_once(spec, 8), expected) << registers;
  }
}

TEST(SliceMisses, LetHitsPassAndReadersOfOneLineWaitTogether) {
  MemorySpec spec = one_slice();
  spec.slice_misses = 1;
  const std::vector<std::int64_t> lines = lines_of_channels(spec, 3);
  Requests r(spec);
  r.hold(1000);
  for (const std::int64_t line : lines) r.ask(0, line);
  r.ask(1, lines[2]);
  r.ask(2, 1000);
  const std::vector<std::int64_t> at = r.replies();
  EXPECT_GT(at[2], at[1] + 200);
  EXPECT_EQ(at[3], at[2]) << "one line for both";
  EXPECT_EQ(at[4], kHit + 4) << "behind four others at the port alone";
  EXPECT_EQ(r.statistics().level(LevelRole::kDram).requests, 3);
}

// Behind another cache a line may be there at once, which gives its register to the next in turn.
TEST(SliceMisses, OfWhatAnotherCacheHoldsAreBoundToo) {
  MemorySpec spec = machine_of(chip(source_path("tests/support/chips/other_names.yaml").string())).memory;
  spec.slice_misses = 1;
  const auto last = [](const MemorySpec& s) {
    Requests r(s);
    const AddressMap map({.slices = s.slices});
    for (int k = 0; k < 100; ++k) r.ask(0, map.line_of(0, k), 0, false, 1);
    std::vector<std::int64_t> first = r.replies();
    return *std::max_element(first.begin(), first.end());
  };
  MemorySpec free = spec;
  free.slice_misses = 0;
  const std::int64_t held = (free.dram_latency - free.cache_latency).count();
  EXPECT_GT(last(spec), last(free) + 90 * held / 2);
  EXPECT_LT(last(spec), last(free) + 100 * held);
}

// Eight cores, those of one cluster at once and of the next one 1,000 cycles later: bookings of a port are exact where
// they come in the order of their times.
TEST(Clusters, ShareAPortEachWay) {
  MemorySpec spec = one_slice();
  spec.slice_rate = {4096, 1};
  spec.link_rate = Rate{32, 1};
  const auto after_begin = [&](std::int64_t cores) {
    Requests r(spec);
    r.hold(0);
    for (int core = 0; core < 8; ++core) r.ask(core, 0, 1000 * (core / cores));
    std::vector<std::int64_t> at = r.replies();
    for (int core = 0; core < 8; ++core) at[static_cast<std::size_t>(core)] -= 1000 * (core / cores) + kHit;
    return at;
  };
  EXPECT_EQ(after_begin(4), std::vector<std::int64_t>(8, 0)) << "no such port";
  spec.cluster = ClusterSpec{4, Rate{32, 1}};
  EXPECT_EQ(after_begin(4), (std::vector<std::int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  spec.cluster = ClusterSpec{3, Rate{32, 1}};
  EXPECT_EQ(after_begin(3), (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2, 0, 1}));
  spec.cluster = ClusterSpec{4, Rate{128, 1}};
  EXPECT_EQ(after_begin(4), std::vector<std::int64_t>(8, 0)) << "as wide as their own ports together";
  // A line of 128 B takes four cycles of the port, on its way out.
  spec.cluster = ClusterSpec{4, Rate{32, 1}};
  Requests r(spec);
  for (int core = 0; core < 4; ++core) r.ask(core, core, 13, true, 0xf);
  const std::vector<std::int64_t> at = r.replies();
  for (std::int64_t k = 1; k < 4; ++k) EXPECT_EQ(at[static_cast<std::size_t>(k)], at[0] + 4 * k);
}

// Two partitions of one slice each; core 1's has the lines that core 0 reads. The end of a booking is known to 16
// cycles.
TEST(Partitions, TakeFromEachOtherSoManyBytesACycle) {
  constexpr std::int64_t kRemote = 400, kLines = 100;
  const auto at = [](std::optional<Rate> rate) {
    MemorySpec spec = one_slice();
    spec.slices = spec.partitions = 2;
    spec.remote_latency = Cycle(kRemote);
    spec.slice.tells_clean = true;
    spec.remote_rate = rate;
    Requests r(spec);
    for (std::int64_t line = 0; line < kLines; ++line) r.hold(line, 1);
    for (std::int64_t line = 0; line < kLines; ++line) r.ask(0, line);
    for (std::int64_t line = 0; line < kLines; ++line) r.ask(1, line, 10000);
    return r.replies();
  };
  const auto free = at({});
  EXPECT_EQ(free[0], kRemote);
  EXPECT_NEAR(static_cast<double>(free[kLines - 1]), kRemote + kLines - 1, 16) << "the slices' ports";
  for (const std::int64_t width : {16, 8, 2}) {
    const auto bound = at(Rate{width, 1});
    EXPECT_EQ(bound[0], kRemote) << "an idle line is no later";
    EXPECT_NEAR(static_cast<double>(bound[kLines - 1]), static_cast<double>(kRemote + (kLines - 1) * 32 / width), 16);
    for (std::size_t own = kLines; own < 2 * kLines; ++own) EXPECT_EQ(bound[own], free[own]) << "what is near";
  }
}

TEST(Walkers, FetchTranslationsOneAfterTheOther) {
  Tlb tlb({.page = 4096, .entries = 8, .miss = 9_cycles, .walkers = 1});
  EXPECT_EQ(tlb.translate(0, 100_cycles), 109_cycles);
  EXPECT_EQ(tlb.translate(4096, 100_cycles), 118_cycles) << "once the walker is back";
  EXPECT_EQ(tlb.translate(8, 102_cycles), 109_cycles) << "the same walk";
  EXPECT_EQ(tlb.translate(4100, 130_cycles), 130_cycles);
  EXPECT_EQ(tlb.translate(8192, 130_cycles), 139_cycles);
  Tlb two({.page = 4096, .entries = 8, .miss = 9_cycles, .walkers = 2});
  EXPECT_EQ(two.translate(0, 100_cycles), 109_cycles);
  EXPECT_EQ(two.translate(4096, 101_cycles), 110_cycles);
  EXPECT_EQ(two.translate(8192, 102_cycles), 118_cycles);
}

TEST(Walkers, WritesThatMissMayNeedThemToo) {
  const auto at = [](bool writes, bool held) {
    MemorySpec spec = one_slice();
    spec.tlb = TlbSpec{.page = 4096, .entries = 8, .miss = 70_cycles, .walkers = 1, .writes = writes};
    Requests r(spec);
    if (held) r.hold(0);
    r.ask(0, 0, 0, true);
    r.ask(0, 1000, 0, true);
    return r.replies();
  };
  EXPECT_EQ(at(false, false), (std::vector<std::int64_t>{200, 201}));
  EXPECT_EQ(at(true, false), (std::vector<std::int64_t>{270, 340}));
  EXPECT_EQ(at(true, true), (std::vector<std::int64_t>{200, 271})) << "a hit is no access of the DRAM";
}

// A stream through all slices: Little's law over the registers, the line, and what a miss takes.
TEST(SliceMisses, BoundAStream) {
  constexpr std::int64_t kBlocks = 800, kThreads = 256, kEach = 4;
  const lower::Module m = stream(kBlocks, kThreads, kEach, Stream::kRead);
  double before = 0;
  for (const char* registers : {"1", "2", "4", "64"}) {
    const arch::ArchSpec c = chip("v100", {{"memory.l2.mshrs", registers}});
    const arch::CacheLevel& l2 = *arch::device_cache_of(c);
    const double bytes_per_cycle =
        static_cast<double>(kBlocks * kThreads * kEach * 16) / running_cycles(simulated(m, c));
    const double held = static_cast<double>(arch::dram_of(c)->latency->n - l2.latency->n);
    const double bound = static_cast<double>(*l2.mshrs * l2.slices * l2.line.n) / held;
    // Rows that are open answer sooner than the idle latency, by tRP and tRCD.
    EXPECT_LT(bytes_per_cycle, 1.25 * bound) << registers;
    if (bound < 200) {
      EXPECT_GT(bytes_per_cycle, 0.5 * bound) << registers;
    }
    EXPECT_GT(bytes_per_cycle, before) << registers;
    before = bytes_per_cycle;
  }
}

}  // namespace
}  // namespace tilescope::sim

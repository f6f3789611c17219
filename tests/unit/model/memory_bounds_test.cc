// SPDX-License-Identifier: Apache-2.0
// What bounds the levels of device scope beside their width, by hand from the chip's figures, and counted plainly.

#include "model/simt/detail/memory_bounds.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/derive.h"
#include "model/simt/detail/core_time.h"
#include "model/simt/estimate.h"
#include "tests/support/build.h"
#include "tests/support/paths.h"
#include "tests/unit/model/alone.h"
#include "tests/unit/model/machines.h"

namespace tilescope::model {
namespace {

using tests::chip;
using Changes = std::vector<arch::Override>;

// A V100, 1380 MHz: 64 slices of 32 B a cycle with lines of 128 B, 80 cores, pages of 2 MiB, 16 at hand.
struct V100 {
  explicit V100(const Changes& changes = {}) : spec(chip("v100", changes)), m(make_machine(spec)) {}
  V100(const V100&) = delete;  // the machine points to the spec

  double l2_us(const Traffic& t) const { return device_cache_time_us(t, m, 0); }
  double dram_us(const Traffic& t) const { return dram_time_us(t, m); }

  arch::ArchSpec spec;
  Machine m;
};

// 128 MB read by the cores, a quarter of it from the DRAM; 64 MB written.
Traffic traffic() {
  Traffic t;
  t.caches[0] = t.cores = {128e6, 64e6};
  t.dram = {32e6, 64e6};
  t.distinct = {32e6, 64e6};
  t.crossing_bytes = 16e6;
  t.requests_per_byte = {1.0 / 128, 1.0 / 128};
  t.misses_per_byte = 1.0 / 128;
  return t;
}

TEST(MemoryBounds, AreNoneWhereTheFileHasNone) {
  const V100 chip;
  EXPECT_FALSE(chip.m.bounds.of_cache());
  EXPECT_NEAR(chip.l2_us(traffic()), 192e6 / (64 * 32 * 1380 * 0.867), 1e-9) << "whole lines at the measured rate";
}

// A port takes a request's own time beside that of its data, whatever the size: 19 of 32 B a cycle.
TEST(MemoryBounds, RequestsForPartsOfLinesTakeTheirOwnTimeEach) {
  const V100 chip;
  Traffic sectors = traffic();
  sectors.requests_per_byte = {1.0 / 32, 1.0 / 32};
  EXPECT_NEAR(chip.l2_us(sectors) / chip.l2_us(traffic()), (4 * (32.0 + 19)) / (128 + 19), 1e-9);
  const arch::ArchSpec unmeasured = tests::chip("a100");
  ASSERT_FALSE(unmeasured.calibration.contains("l2.read"));
  EXPECT_NEAR(device_cache_time_us(sectors, make_machine(unmeasured), 0), 192e6 / 32 * (32 + 43) / (80 * 64 * 1410),
              1e-9);
}

// 250,000 lines from the DRAM, each under way for 425 - 193 cycles or what the file says, by 64 slices at a time.
TEST(MemoryBounds, MissesUnderWayAreThoseOfLittlesLaw) {
  const V100 one(Changes{{"memory.l2.mshrs", "1"}}), many(Changes{{"memory.l2.mshrs", "64"}});
  const double longer = one.m.dram_latency_cycles - one.m.device_caches[0].latency_cycles;
  ASSERT_GT(longer, 100);
  EXPECT_NEAR(one.l2_us(traffic()), 250000 * longer / 64 / 1380, 1e-6);
  EXPECT_DOUBLE_EQ(many.l2_us(traffic()), V100().l2_us(traffic())) << "then the ports are slower";
}

TEST(MemoryBounds, WhatAnotherCacheHoldsIsUnderWayForLess) {
  const arch::ArchSpec with_l3 =
      chip(tests::source_path("tests/support/chips/other_names.yaml").string(), {{"memory.gl2.mshrs", "1"}});
  const Machine m = make_machine(with_l3);
  Traffic t;
  t.caches[0].read = t.caches[1].read = 64e6;
  t.dram.read = 16e6;
  t.misses_per_byte = 1 / m.bounds.line_bytes;
  const double lines = 64e6 / m.bounds.line_bytes, own = m.device_caches[0].latency_cycles;
  const double held = lines * (0.75 * (m.device_caches[1].latency_cycles - own) + 0.25 * (m.dram_latency_cycles - own));
  EXPECT_NEAR(least_cache_time_us(t, m), held * 1e6 / m.clock_hz / *m.bounds.max_misses, 1e-6);
}

// 1.5 million lines; each request is held for half of the latency and what a line takes at the port.
TEST(MemoryBounds, RequestsWaitForPlacesAtSlices) {
  const V100 one(Changes{{"memory.l2.queue", "1"}}), many(Changes{{"memory.l2.queue", "1000"}});
  const arch::CacheLevel& l2 = *arch::device_cache_of(one.spec);
  const double held = static_cast<double>(l2.latency->n) / 2 + static_cast<double>(128 + l2.request.n) / 32;
  EXPECT_NEAR(one.l2_us(traffic()), 1.5e6 * held / 64 / 1380, 1e-6);
  EXPECT_DOUBLE_EQ(many.l2_us(traffic()), V100().l2_us(traffic()));
}

// 80 cores in five clusters of 16, or in four of 20 and less; each way has a port, so that the longer one counts.
TEST(MemoryBounds, ClustersShareTheirPorts) {
  const auto us = [](const char* cores, const char* width) {
    return V100(Changes{{"link.cluster_cores", cores}, {"link.cluster_width", width}}).l2_us(traffic());
  };
  EXPECT_NEAR(us("16", "32 B"), 128e6 / (5 * 32 * 1380), 1e-6);
  EXPECT_NEAR(us("21", "32 B"), 128e6 / (4 * 32 * 1380), 1e-6) << "the last of four has 17 cores";
  EXPECT_DOUBLE_EQ(us("16", "512 B"), V100().l2_us(traffic())) << "as wide as their cores' ports together";
}

TEST(MemoryBounds, PartitionsTakeFromEachOtherAtAWidth) {
  const arch::ArchSpec a100 = chip("a100", {{"memory.l2.remote_width", "4 B"}});
  const Machine m = make_machine(a100);
  const double mhz = static_cast<double>(arch::clock_of(a100, *arch::device_cache_of(a100)).n) / 1e6;
  EXPECT_NEAR(device_cache_time_us(traffic(), m, 0), 16e6 / (2 * 4 * mhz), 1e-6);
}

// 40 cores with blocks, 16 of them behind one port.
TEST(MemoryBounds, ClustersWithoutBlocksLendTheirPortsToNone) {
  const V100 chip(Changes{{"link.cluster_cores", "16"}, {"link.cluster_width", "32 B"}});
  Traffic t = traffic();
  t.cluster_share = 16.0 / 40;
  EXPECT_NEAR(chip.l2_us(t), 128e6 * 16 / 40 / (32 * 1380), 1e-6);
  t.cluster_share = 1;
  EXPECT_NEAR(chip.l2_us(t), 128e6 / (32 * 1380), 1e-6) << "one cluster";
}

// Two million requests of 32 B each ask with a beat of 32 B of the core's own port.
TEST(MemoryBounds, RequestsPassThePortsOfClustersToo) {
  const V100 chip(Changes{{"link.cluster_cores", "16"}, {"link.cluster_width", "32 B"}});
  Traffic t = traffic();
  t.requests_per_byte.read = 1.0 / 64;
  EXPECT_NEAR(chip.l2_us(t), (64e6 + 64e6) / (5 * 32 * 1380), 1e-6);
  t.requests_per_byte.read = 1.0 / 32;
  EXPECT_NEAR(chip.l2_us(t), (64e6 + 128e6) / (5 * 32 * 1380), 1e-6);
}

// All ways in which readers of a line can be of partitions.
TEST(MemoryBounds, CrossingsAreThoseOfAPlainCount) {
  for (const int partitions : {1, 2, 3})
    for (int readers = 1; readers <= 6; ++readers) {
      int ways = 1;
      for (int i = 0; i < readers; ++i) ways *= partitions;
      double crossings = 0;
      for (int way = 0; way < ways; ++way) {
        std::set<int> seen;
        for (int i = 0, rest = way; i < readers; ++i, rest /= partitions) seen.insert(rest % partitions);
        crossings += static_cast<double>(seen.size() - 1);
      }
      EXPECT_NEAR(crossings_of_line(readers, partitions), crossings / ways, 1e-9) << partitions << " " << readers;
    }
}

// Blocks that are there at one time are dealt to cores in their order, so that the first cluster has the most.
RC_GTEST_PROP(MemoryBounds, BlocksOfTheFirstClusterBoundAKernelOfOneWave, ()) {
  const std::int64_t cores = *rc::gen::inRange<std::int64_t>(1, 81), blocks = *rc::gen::inRange<std::int64_t>(1, 200);
  const V100 chip(Changes{{"link.cluster_cores", std::to_string(cores)}, {"link.cluster_width", "32 B"}});
  const auto copy = program("O[i] = relu(I[i])", fmt::format("i={}", blocks * 1024).c_str(), {{1, 256, 4}}, {1});
  std::int64_t first = 0;
  for (std::int64_t b = 0; b < blocks; ++b) first += b % 80 < cores ? 1 : 0;
  const double bytes = 4096 * static_cast<double>(first) * 1.25;  // a beat of 32 B asks for each line that is read
  const Traffic all = traffic_of(copy, chip.m, 4), half = traffic_of(copy, chip.m, 1);
  const double ports_us = all.caches[0].bytes() / (64 * 32 * 1380 * 0.867);  // whole lines
  RC_ASSERT(std::abs(chip.l2_us(all) - std::max(ports_us, bytes / 32 / 1380)) < 1e-9);
  if (blocks > 80) {
    const auto clusters = static_cast<double>((80 + cores - 1) / cores);
    const double spread = 4096 * static_cast<double>(blocks) * 1.25 / clusters;
    RC_ASSERT(std::abs(chip.l2_us(half) - std::max(ports_us, spread / 32 / 1380)) < 1e-9);
  }
}

// Each block of the product reads its rows with 15 others; of the sum, alone.
TEST(MemoryBounds, OnlyWhatSeveralBlocksReadCrosses) {
  const arch::ArchSpec a100 = chip("a100"), v100 = chip("v100");
  const Machine m = make_machine(a100);
  const auto product =
      program("C[m,n] +=! A[m,k] * B[k,n]", "m=1024,n=1024,k=1024", {{4, 16, 1}, {4, 16, 1}}, {1, 1, 8});
  const Traffic t = traffic_of(product, m, 1);
  EXPECT_NEAR(t.crossing_bytes, 2 * 4.0 * 1024 * 1024, 0.01 * 8 * 1024 * 1024);
  const auto alone = program("O[i] = relu(I[i])", "i=1048576", {{1, 256, 4}}, {1});
  EXPECT_EQ(traffic_of(alone, m, 1).crossing_bytes, 0);
  EXPECT_EQ(traffic_of(product, make_machine(v100), 1).crossing_bytes, 0) << "one partition";
}

// A stream of every S-th element: each warp asks for every line that its lanes touch, and a miss holds its register as
// long whether it brings one sector or four.
RC_GTEST_PROP(MemoryBounds, RequestsAreOfTheLinesThatAWarpTouches, ()) {
  const std::int64_t stride = *rc::gen::inRange<std::int64_t>(1, 80), registers = *rc::gen::inRange<std::int64_t>(1, 4);
  const V100 few(Changes{{"memory.l2.mshrs", std::to_string(registers)}});
  const auto copy = program(fmt::format("O[i] = I[i*{}]", stride).c_str(), "i=262144", {{1, 256, 1}}, {1});
  const Traffic t = traffic_of(copy, few.m, 1);
  std::int64_t lines = 0;
  for (std::int64_t warp = 0; warp < 262144 / 32; ++warp) {
    std::set<std::int64_t> touched;
    for (std::int64_t lane = 0; lane < 32; ++lane) touched.insert((warp * 32 + lane) * stride * 4 / 128);
    lines += std::ssize(touched);
  }
  const auto all = static_cast<double>(lines);
  RC_LOG() << stride << ": " << t.cores.read * t.requests_per_byte.read << " of " << all << '\n';
  RC_ASSERT(std::abs(t.cores.read * t.requests_per_byte.read / all - 1) < 0.1);
  RC_ASSERT(std::abs(t.dram.read * t.misses_per_byte / all - 1) < 0.1);
  const double longer = few.m.dram_latency_cycles - few.m.device_caches[0].latency_cycles;
  const double us = all * longer / static_cast<double>(64 * registers) / 1380;
  const double ports_us = t.caches[0].bytes() / few.m.device_caches[0].bytes_per_us;
  RC_ASSERT(std::abs(few.l2_us(t) / std::max(us, ports_us) - 1) < 0.1);
}

// One walker that takes a millisecond.
TEST(MemoryBounds, EveryPageIsWalkedOnceAtLeast) {
  const Changes slow = {{"memory.dram.tlb.walkers", "1"}, {"memory.dram.tlb.miss", "1380000 cycles"}};
  const double pages = 32e6 / (2 << 20);
  EXPECT_NEAR(V100(slow).dram_us(traffic()), 1000 * pages, 1e-6);
  auto two = slow;
  two[0].value = "2";
  EXPECT_NEAR(V100(two).dram_us(traffic()), 500 * pages, 1e-6);
  auto writes = slow;
  writes.push_back({"memory.dram.tlb.writes", "true"});
  EXPECT_NEAR(V100(writes).dram_us(traffic()), 3000 * pages, 1e-6);
  // What comes twice is walked twice where the pages at hand do not cover it: 16 of 2 MiB cover 32 MB, and not 40.
  Traffic again = traffic();
  again.dram.read = 64e6;
  EXPECT_NEAR(V100(slow).dram_us(again), 1000 * pages, 1e-6);
  again.distinct.read = 40e6;
  EXPECT_NEAR(V100(slow).dram_us(again), 2000 * pages, 1e-6);
}

// The bound is the level's term of a program, and the program takes no less.
TEST(MemoryBounds, AreTheLevelsTerm) {
  const auto copy = program("O[i] = relu(I[i])", "i=16777216", {{1, 256, 4}}, {1});
  const V100 v100, few(Changes{{"memory.l2.mshrs", "1"}});
  const auto free = estimate_stage(copy, v100.m), bound = estimate_stage(copy, few.m);
  const double lines = 4.0 * 16777216 / 128;
  const double longer = v100.m.dram_latency_cycles - v100.m.device_caches[0].latency_cycles;
  EXPECT_NEAR(bound->term_us("l2"), lines * longer / 64 / 1380, 0.01 * bound->term_us("l2"));
  EXPECT_GT(bound->term_us("l2"), free->term_us("l2"));
  EXPECT_GE(bound->total_us, bound->term_us("l2"));
  EXPECT_EQ(bound->term_us("dram"), free->term_us("dram"));
}

}  // namespace
}  // namespace tilescope::model

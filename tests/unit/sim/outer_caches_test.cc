// SPDX-License-Identifier: Apache-2.0
// Caches between the one that cores reach first and the DRAM: what they hold, when it comes, and what it is called.

#include "sim/memory/detail/outer_caches.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "arch/hierarchy.h"
#include "sim/gpu/detail/machine.h"
#include "sim/memory/detail/device_memory.h"
#include "sim/memory/detail/sector_cache.h"
#include "tests/support/paths.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

using Changes = std::vector<arch::Override>;

arch::ArchSpec chip_here(const std::string& name, const Changes& changes = {}) {
  return chip(source_path("tests/support/chips/" + name + ".yaml").string(), changes);
}

// A chain over 4 MiB, a line of gl2 (1 MiB) each, of which two share a line of mall (16 MiB): the first pass finds
// nothing, later ones find all in mall and nothing before it.
TEST(OuterCaches, AHandMadeChainHitsExactly) {
  constexpr std::int64_t kLines = 32768, kPasses = 3;
  const SimReport r = simulated(chase(kLines, 32, kPasses), chip_here("other_names"));
  std::vector<std::string> names;
  for (const LevelReport& l : r.levels) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"hbm", "mall", "gl2", "vl1d", "lds"}));
  EXPECT_EQ(level(r, "gl2").requests, kLines * kPasses);
  EXPECT_EQ(level(r, "gl2").hits, 0);
  EXPECT_EQ(level(r, "mall").requests, kLines * kPasses);
  EXPECT_EQ(level(r, "mall").transactions, kLines * kPasses);
  EXPECT_EQ(level(r, "mall").hits, kLines * (kPasses - 1));
  EXPECT_EQ(level(r, "mall").read_bytes, kLines * kPasses * 128);
  EXPECT_EQ(level(r, "hbm").read_bytes, kLines * 128) << "once, in sectors of mall";
  EXPECT_EQ(level(r, "hbm").requests, kLines);
}

// Cycles of one link of a chain over so many lines, once they are where they will be.
double link(const arch::ArchSpec& c, std::int64_t lines) {
  const double longer = running_cycles(simulated(chase(lines, 32, 3), c));
  return (longer - running_cycles(simulated(chase(lines, 32, 2), c))) / static_cast<double>(lines) - 1;
}

TEST(OuterCaches, AnIdleHitCostsTheLevelsLatency) {
  EXPECT_NEAR(link(chip_here("other_names"), 32768), 450, 1.5);
  EXPECT_NEAR(link(chip_here("other_names"), 4096), 250, 1.5) << "what gl2 holds does not go further";
  EXPECT_NEAR(link(chip_here("other_names", {{"memory.mall.latency", "600 cycles"}}), 32768), 600, 1.5);
}

// Four reads of the cores' cache that share nothing but the line of mall wait for one access of the DRAM.
TEST(OuterCaches, ReadsOfALineThatIsUnderWayWaitForIt) {
  const Machine machine = machine_of(chip_here("other_names"));
  Statistics statistics;
  DeviceMemory memory(machine.memory, statistics);
  std::vector<MemoryReply> replies;
  const auto ask = [&](const MemoryRequest& r) { memory.run({&r, 1}, {}, replies); };
  for (int s = 0; s < 4; ++s) ask({.core = s, .line = 8, .sectors = 1u << s, .at = 10_cycles * s});
  EXPECT_TRUE(replies.empty());
  memory.run({}, 100000_cycles, replies);
  ASSERT_EQ(replies.size(), 4u);
  for (const MemoryReply& r : replies) EXPECT_EQ(r.from, Stall::kDram);
  EXPECT_EQ(statistics.level(LevelRole::kDram).requests, 1);
  EXPECT_EQ(statistics.level(role_of_device_cache(1)).requests, 4);
  EXPECT_EQ(statistics.level(role_of_device_cache(1)).hits, 3);
  replies.clear();
  ask({.core = 5, .line = 8, .sectors = 0xf, .at = 200000_cycles});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].from, Stall::kL2);
}

TEST(OuterCaches, AHitThereIsWaitedForByItsName) {
  const arch::ArchSpec c = chip_here("other_names");
  const SimReport r = simulated(chase(32768, 32, 3), c);
  std::int64_t mall = 0, dram = 0;
  for (const auto& [name, cycles] : r.stalls) {
    if (name == "mall") mall = cycles;
    if (name == "hbm") dram = cycles;
    if (name == "gl2") {
      EXPECT_LT(cycles, 1000);
    }
  }
  EXPECT_GT(mall, 2 * 32768 * 400);
  EXPECT_GT(dram, 32768 * 500);
}

// What is written comes to the DRAM once: what the last cache has driven out, and nothing it still holds.
TEST(OuterCaches, WrittenBytesLeaveThroughThem) {
  const arch::ArchSpec c = chip_here("other_names", {{"memory.mall.capacity", "2 MiB"}});
  constexpr std::int64_t kBytes = 2000 * 256 * 16;
  const SimReport r = simulated(stream(2000, 256, 1, Stream::kWrite), c);
  EXPECT_EQ(level(r, "gl2").written_bytes, kBytes);
  EXPECT_GT(level(r, "mall").written_bytes, kBytes - (1 << 20) - 1);
  EXPECT_GE(level(r, "mall").written_bytes, level(r, "hbm").written_bytes);
  EXPECT_GE(level(r, "hbm").written_bytes, kBytes - (3 << 20));
  EXPECT_EQ(level(r, "hbm").read_bytes, 0);
}

// Every block reads a part of what fits mall and not gl2, again and again: no faster than mall's ports, and near to
// them.
TEST(OuterCaches, TheirBandwidthBinds) {
  const auto gbps = [](const Changes& changes) {
    const arch::ArchSpec c = chip_here("other_names", changes);
    constexpr std::int64_t kBlocks = 64, kOfBlock = 16384, kPasses = 6;  // 4 MiB in all
    HandKernel k(kBlocks, 256);
    const int a = k.global("A", kBlocks * kOfBlock), r = k.registers("r", 16), s = k.registers("s", 1);
    const int pass = k.loop("pass", kPasses), i = k.loop("i", kOfBlock / 4096), j = k.loop("j", 4);
    const Affine at = affine({{0, kOfBlock}, {1, 4}, {i, 4096}, {j, 1024}});
    k.add(loop_over(
        pass, {loop_over(i, {loop_over(j, {copy({r, affine({{j, 4}})}, {a, at}, 4)}, 4), assign({s, {}}, {r, {}})})}));
    const SimReport report = simulated(std::move(k).take(), c, Mode::kFull);
    const double seconds = running_cycles(report) / static_cast<double>(c.clock.n);
    return static_cast<double>(level(report, "mall").read_bytes) / seconds * 1e-9;
  };
  const double peak = 8 * 64 * 2.0;
  const double wide = gbps({}), narrow = gbps({{"memory.mall.width", "8 B"}});
  EXPECT_LT(wide, 1.02 * peak);
  EXPECT_LT(narrow, 1.02 * peak / 8);
  EXPECT_GT(narrow, 0.7 * peak / 8);
  EXPECT_GT(wide, 1.2 * narrow);
}

TEST(OuterCaches, ALargerOneIsNotSlower) {
  const lower::Module m = tiled_product(512, 512, 32);
  double before = 1e18;
  for (const char* capacity : {"1 MiB", "2 MiB", "16 MiB"}) {
    const double cycles = running_cycles(simulated(
        m, chip_here("other_names", {{"memory.gl2.capacity", "256 KiB"}, {"memory.mall.capacity", capacity}})));
    EXPECT_LE(cycles, 1.01 * before) << capacity;
    before = cycles;
  }
}

TEST(OuterCaches, ASampledSimulationIsNearTheWholeOne) {
  const lower::Module m = tiled_product(1024, 1024, 64);
  for (const char* capacity : {"1 MiB", "16 MiB"}) {
    const arch::ArchSpec c = chip_here("other_names", {{"memory.mall.capacity", capacity}});
    const SimReport full = simulated(m, c), sampled = simulated(m, c, Mode::kSampled);
    EXPECT_NEAR(running_cycles(sampled) / running_cycles(full), 1, 0.05) << capacity;
  }
}

// A cache before the outer ones behaves as alone, and one that holds nothing more than it changes no count before it.
TEST(OuterCaches, LeaveTheFirstCacheAsItIs) {
  const lower::Module m = tiled_product(300, 260, 12);
  const SimReport with = simulated(m, chip_here("mi210_l3")), without = simulated(m, chip("mi210"));
  for (const char* name : {"l2", "l1", "smem"}) {
    EXPECT_EQ(level(with, name).requests, level(without, name).requests) << name;
    EXPECT_EQ(level(with, name).read_bytes, level(without, name).read_bytes) << name;
  }
  EXPECT_EQ(level(with, "l3").read_bytes, level(without, "dram").read_bytes);
}

TEST(Levels, CoresWithoutCachesReachTheDram) {
  const SimReport r = simulated(stream(64, 256, 4, Stream::kRead), chip_here("bare"));
  std::vector<std::string> names;
  for (const LevelReport& l : r.levels) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"dram", "smem"}));
  EXPECT_EQ(level(r, "dram").read_bytes, 64 * 256 * 4 * 16);
  std::int64_t all = 0;
  for (const StallReport& stall : r.stalls) all += stall.cycles;
  EXPECT_EQ(all, r.cycles) << "every wait has a name";
  EXPECT_GT(running_cycles(simulated(tiled_product(64, 64, 4), chip_here("bare"))), 0);
}

// --- any way: the same as a plain list by when lines were used

RC_GTEST_PROP(SectorCache, WithoutSetsTheOneUnusedLongestGoes, ()) {
  const std::int64_t lines = *rc::gen::inRange<std::int64_t>(1, 20);
  SectorCache cache({lines, CacheSpec::kAnyWay});
  std::vector<std::int64_t> used;  // latest last
  for (int i = 0; i < 200; ++i) {
    const std::int64_t line = *rc::gen::inRange<std::int64_t>(0, 40);
    const auto found = std::find(used.begin(), used.end(), line);
    const bool there = found != used.end();
    const SectorCache::Result r = cache.touch(line, 1);
    RC_ASSERT(r.allocated == !there);
    RC_ASSERT(r.missing == (there ? 0u : 1u));
    if (there) used.erase(found);
    if (!there && std::ssize(used) == lines) {
      RC_ASSERT(r.victim.line == used.front());
      RC_ASSERT(r.victim.dirty == 1);
      used.erase(used.begin());
    }
    used.push_back(line);
    r.line->write(1);
    RC_ASSERT(cache.peek(line, 1) == r.line);
  }
}

// A gigabyte of cache of which little is used costs what is used of it.
TEST(SectorCache, TakesMemoryWhereItIsTouched) {
  std::vector<SectorCache> caches;
  for (int i = 0; i < 80; ++i) {
    caches.emplace_back(CacheSpec{std::int64_t{1} << 23, 16});
    EXPECT_TRUE(caches.back().touch(i, 1).allocated);
    EXPECT_FALSE(caches.back().touch(i, 1).allocated);
  }
}

}  // namespace
}  // namespace tilescope::sim

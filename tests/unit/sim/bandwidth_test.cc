// SPDX-License-Identifier: Apache-2.0
// Kernels that one resource binds come near what the chip's file says of it, and never above.

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

double seconds(const SimReport& r, const arch::ArchSpec& chip) {
  return running_cycles(r) / static_cast<double>(chip.clock.n);
}

// Bytes moved a second over what the level's causes give.
template <class Level>
double share(const lower::Module& m, const arch::ArchSpec& chip, const Level* level, double bytes) {
  return bytes / seconds(simulated(m, chip), chip) / arch::bandwidth_of(chip, *level).v;
}

// The chip with a device's cache of no more than 32 sets a slice, so that it holds little of what the kernels move.
arch::ArchSpec with_a_small_device_cache(const char* name) {
  const arch::ArchSpec whole = chip(name);
  const arch::CacheLevel& l2 = *arch::device_cache_of(whole);
  const std::int64_t most = 32 * l2.slices * l2.ways.value_or(16) * l2.line.n;
  if (l2.capacity.n <= most) return whole;
  return chip(name, {{"memory.l2.capacity", fmt::format("{} B", most)}});
}

class Bandwidth : public testing::TestWithParam<const char*> {};

TEST_P(Bandwidth, OfTheDramIsNearlyReached) {
  const arch::ArchSpec c = with_a_small_device_cache(GetParam());
  constexpr std::int64_t kBlocks = 4000, kThreads = 256, kEach = 2;
  constexpr double kBytes = kBlocks * kThreads * kEach * 16;  // 33 MB
  const double read = share(stream(kBlocks, kThreads, kEach, Stream::kRead), c, arch::dram_of(c), kBytes);
  EXPECT_GT(read, 0.85);
  EXPECT_LT(read, 1.0);
  const double copied = share(stream(kBlocks, kThreads, kEach, Stream::kCopy), c, arch::dram_of(c), 2 * kBytes);
  EXPECT_GT(copied, 0.75);
  EXPECT_LT(copied, 1.15);  // the device's cache keeps some of what was written last
}

INSTANTIATE_TEST_SUITE_P(Chips, Bandwidth, testing::Values("v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50"));

// A mapping that fills one channel before the next leaves a kernel of 2 MB that one alone; with the channel's bits next
// to the line it has them all.
TEST(Bandwidth, OfTheDramIsThatOfTheChannelsOfTheChipsMapping) {
  constexpr std::int64_t kBlocks = 256, kThreads = 256, kEach = 2;
  const lower::Module m = stream(kBlocks, kThreads, kEach, Stream::kRead);
  const auto reached = [&](const char* mapping) {
    const arch::ArchSpec c = chip("v100", {{"memory.dram.mapping", mapping}});
    return share(m, c, arch::dram_of(c), kBlocks * kThreads * kEach * 16);
  };
  const double one = reached("off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+14] ch[28+6]");
  EXPECT_LT(one, 1 / 64.0);
  EXPECT_GT(one, 0.8 / 64);
  EXPECT_GT(reached("off[0+5] co[5+2] ch[7+6] co[13+3] bg[16+2] ba[18+2] ro[20+14]"), 20 * one);
}

// Four reads a thread keep rows of many blocks in use at once; more lines under way still help.
TEST(Bandwidth, OfTheDramGrowsWithTheLinesUnderWay) {
  constexpr std::int64_t kBlocks = 1600, kThreads = 256, kEach = 4;
  const lower::Module m = stream(kBlocks, kThreads, kEach, Stream::kRead);
  double before = 0;
  for (const char* misses : {"32", "64", "128", "256", "512"}) {
    const arch::ArchSpec c = chip("v100", {{"memory.l1.mshrs", misses}});
    const double reached = share(m, c, arch::dram_of(c), kBlocks * kThreads * kEach * 16);
    EXPECT_GT(reached, before) << misses;
    before = reached;
  }
  EXPECT_GT(before, 0.95);
}

// Every block reads the same megabyte, so that all but the first reads hit.
lower::Module all_read_one_buffer(std::int64_t blocks, std::int64_t passes) {
  constexpr std::int64_t kThreads = 1024, kEach = 64;  // 1 MiB in pieces of 16 B
  HandKernel k(blocks, kThreads);
  const int a = k.global("A", kThreads * kEach * 4), r = k.registers("r", 16), s = k.registers("s", 1);
  const int pass = k.loop("pass", passes), i = k.loop("i", kEach / 4), j = k.loop("j", 4);
  k.add(loop_over(
      pass,
      {loop_over(
          i,
          {loop_over(
               j, {copy({r, affine({{j, 4}})}, {a, affine({{1, 4}, {i, 4 * 4 * kThreads}, {j, 4 * kThreads}})}, 4)}, 4),
           assign({s, {}}, {r, {}})})}));
  return std::move(k).take();
}

TEST(Bandwidth, OfTheDeviceCacheIsNearlyReached) {
  const arch::ArchSpec c = chip("v100", {{"memory.l1.capacity", "96 KiB"}});
  const lower::Module m = all_read_one_buffer(80, 3);
  const double bytes = 80.0 * 3 * 1024 * 1024;
  const double reached = share(m, c, arch::device_cache_of(c), bytes);
  EXPECT_GT(reached, 0.80);
  EXPECT_LT(reached, 1.05);
}

// The share of a unit's rate that the schedulers can ask for: two thirds of the FMA of Kepler, less what they wait for
// registers, 11 of 16 cycles where these lie in four banks at random.
double asked_share(const arch::ArchSpec& c, base::Dtype dtype) {
  const double waits = c.core.register_banks == 4 ? 11.0 / 16 * c.compiler->bank_conflicts.value() : 0;
  const auto lanes = static_cast<double>(c.core.partitions * c.core.warp * c.core.issue.value_or(1)) / (1 + waits);
  return std::min(1.0, lanes / static_cast<double>(arch::scalar_unit_of(c, dtype, dtype)->per_core));
}

TEST(Bandwidth, OfArithmeticIsNearlyReached) {
  for (const char* name : {"v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50"}) {
    const arch::ArchSpec c = chip(name);
    constexpr std::int64_t kEach = 4096;
    const std::int64_t blocks = 2 * c.core.count, threads = 512;
    const double operations = 2.0 * static_cast<double>(blocks * threads * kEach);
    const double reached = operations / seconds(simulated(arithmetic(blocks, threads, kEach), c), c) /
                           arch::peak_of(c, *arch::scalar_unit_of(c, base::Dtype::kF32, base::Dtype::kF32)).v;
    const double asked = asked_share(c, base::Dtype::kF32);
    EXPECT_GT(reached, 0.95 * asked) << name;
    EXPECT_LT(reached, 1.0001 * asked) << name;
  }
}

TEST(Bandwidth, OfEveryDtypeIsThatOfItsUnits) {
  const auto reached = [](const char* name, base::Dtype dtype, base::Dtype unit) {
    const arch::ArchSpec c = chip(name);
    constexpr std::int64_t kEach = 1024;
    const std::int64_t blocks = 2 * c.core.count, threads = 512;
    const double operations = 2.0 * static_cast<double>(blocks * threads * kEach);
    return operations / seconds(simulated(arithmetic(blocks, threads, kEach, dtype), c), c) /
           arch::peak_of(c, *arch::scalar_unit_of(c, unit, unit)).v / asked_share(c, unit);
  };
  using base::Dtype;
  for (const char* name : {"v100", "h100_pcie", "mi210", "rtx3090", "k80"}) {
    EXPECT_NEAR(reached(name, Dtype::kF64, Dtype::kF64), 0.97, 0.04) << name;
    EXPECT_NEAR(reached(name, Dtype::kF8E5M2, Dtype::kF32), 0.97, 0.06) << name << ", widened to f32";
  }
  arch::ArchSpec without = chip("v100");
  std::erase_if(without.compute, [](const arch::ComputeSpec& c) { return c.dtype == Dtype::kF64; });
  EXPECT_THAT([&] { simulated(arithmetic(1, 32, 8, Dtype::kF64), without); },
              testing::ThrowsMessage<SimError>("v100: no entry of `compute` computes in f64"));
}

TEST(Bandwidth, OfTheScratchpadFallsByItsConflicts) {
  // Eight warps read a tile by columns of rows that are `pitch` words apart.
  const auto cycles = [](std::int64_t pitch) {
    HandKernel k(80, 256);
    const int tile = k.shared("tile", 32 * pitch + 8 * 32), r = k.registers("r", 8), i = k.loop("i", 512),
              j = k.loop("j", 8);
    const int lane = k.derived("lane", affine({{1, 1}}), 1, 32);
    k.add(loop_over(i, {loop_over(j, {copy({r, affine({{j, 1}})}, {tile, affine({{lane, pitch}, {j, 32}})})}, 8)}, 0));
    return running_cycles(simulated(k.module(), v100()));
  };
  constexpr double kAccesses = 8 * 512 * 8;  // a core
  EXPECT_NEAR(cycles(33) / kAccesses, 1, 0.02);
  EXPECT_NEAR(cycles(34) / kAccesses, 2, 0.02);
  EXPECT_NEAR(cycles(32) / kAccesses, 32, 0.1);
}

}  // namespace
}  // namespace tilescope::sim

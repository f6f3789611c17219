// SPDX-License-Identifier: Apache-2.0
// Parts of a chip whose cost is one figure of its file: what a block, a page, a far partition, a tag memory or a bound
// on misses takes is found again in the cycles of kernels.

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "sim/memory/detail/tlb.h"
#include "sim/memory/detail/warp_access.h"
#include "tests/support/paths.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

TEST(Tlb, KeepsThePagesUsedLast) {
  Tlb tlb({.page = 4096, .entries = 2, .miss = 9_cycles});
  EXPECT_EQ(tlb.translate(0, 0_cycles), 9_cycles);
  EXPECT_EQ(tlb.translate(4096, 0_cycles), 9_cycles);
  EXPECT_EQ(tlb.translate(4095, 0_cycles), 0_cycles);   // page 0 is now the one used last
  EXPECT_EQ(tlb.translate(8192, 5_cycles), 14_cycles);  // in the place of page 1
  EXPECT_EQ(tlb.translate(100, 5_cycles), 5_cycles);
  EXPECT_EQ(tlb.translate(4096, 5_cycles), 14_cycles);
}

// Cycles of a warp's load of 4 B a lane, lanes `stride` words apart, from words 0, 4, ... 28 of two neighbouring
// places, as gpu-benches measures it on an A100 (1038c5d, l1_stride_read_float); where tags bind.
TEST(TagPasses, AreThoseMeasuredOnAnA100) {
  constexpr std::pair<std::int64_t, double> kMeasured[] = {{9, 3.03}, {10, 3.31}, {13, 4.02}, {15, 4.45}, {17, 5.1},
                                                           {31, 8.5}, {33, 8.8},  {40, 9.8},  {49, 10.3}, {63, 8.8}};
  for (const auto& [stride, measured] : kMeasured) {
    double sum = 0;
    for (std::int64_t first = 0; first < 2; ++first)
      for (std::int64_t word = 0; word < 32; word += 4) {
        std::vector<std::int64_t> at;
        for (std::int64_t lane = 0; lane < 32; ++lane) at.push_back(4 * ((32 * first + lane) * stride + word));
        sum += static_cast<double>(tag_passes(0, touched_lines(at, 4, {128, 32}), 4));
      }
    EXPECT_NEAR(sum / 16 / measured, 1, 0.1) << stride;
  }
}

// Every core runs ten blocks, one after the other.
TEST(BlockLaunch, LiesBetweenABlockAndItsSuccessor) {
  const auto cycles = [](const char* launch) {
    HandKernel k(10 * 80, 32);
    k.shared("all", 96 * 1024 / 4);
    const int a = k.global("A", 10 * 80 * 32), r = k.registers("r", 1), s = k.registers("s", 1);
    k.add(copy({r, {}}, {a, affine({{0, 32}, {1, 1}})}));
    k.add(assign({s, {}}, {r, {}}));
    return running_cycles(simulated(k.module(), chip("v100", {{"core.block_launch", launch}})));
  };
  EXPECT_NEAR(cycles("700 cycles") - cycles("300 cycles"), 9 * 400, 60);  // but for what the DRAM does then
}

// Blocks that do next to nothing end no faster than the chip hands them out.
TEST(BlockInterval, BoundsBlocks) {
  const auto cycles = [](const char* interval) {
    HandKernel k(8000, 32);
    const int a = k.global("A", 8000 * 32, lower::Role::kOutput), r = k.registers("r", 1);
    k.add(copy({a, affine({{0, 32}, {1, 1}})}, {r, {}}));
    return running_cycles(simulated(k.module(), chip("v100", {{"block_interval", interval}})));
  };
  EXPECT_NEAR(cycles("10 ns"), 8000 * 13.8, 800) << "10 ns are 13.8 cycles of 1.38 GHz, and the last block ends later";
  EXPECT_NEAR(cycles("20 ns") - cycles("10 ns"), 8000 * 13.8, 200);
}

// A warp's loads of words of different banks, one after the other and all independent, of eight warps.
TEST(ScratchpadPort, HasAWidthAndLanes) {
  const auto cycles = [](std::vector<arch::Override> set, std::int64_t vector) {
    set.push_back({"core.block_launch", "1 cycle"});
    HandKernel k(80, 256);
    const int tile = k.shared("tile", 256 * 16), r = k.registers("r", 4), i = k.loop("i", 1024);
    k.add(loop_over(i, {copy({r, {}}, {tile, affine({{1, vector}})}, vector)}));
    return running_cycles(simulated(k.module(), chip("v100", set)));
  };
  const double scalar = cycles({}, 1);
  EXPECT_NEAR(scalar, 8 * 1024, 300) << "a pass of 128 B a cycle";
  EXPECT_NEAR(cycles({{"memory.smem.width", "64 B"}}, 1) / scalar, 2, 0.1);
  EXPECT_NEAR(cycles({{"core.pipes.lsu.lanes", "16"}}, 1) / scalar, 2, 0.1);
  EXPECT_NEAR(cycles({{"core.pipes.lsu.lanes", "16"}}, 4) / cycles({}, 4), 1, 0.05)
      << "four passes take longer than lanes";
}

// Two loops slide a window over a row: of 8 x 8 reads of single words 15 are of other places. Where a compiler leaves
// no loop it keeps the others; the kernel asks for all of them all the same.
TEST(Scratchpad, IsReadOnceForAnUnrolledWindow) {
  const auto report = [](std::int64_t unroll) {
    HandKernel k(80, 256);
    const int tile = k.shared("tile", 1024), r = k.registers("r", 64), i = k.loop("i", 512);
    const int x = k.loop("x", 8), s = k.loop("s", 8);
    const Statement read = copy({r, affine({{x, 8}, {s, 1}})}, {tile, affine({{1, 1}, {x, 32}, {s, 32}})});
    k.add(loop_over(i, {loop_over(x, {loop_over(s, {read}, unroll)}, unroll)}));
    return simulated(std::move(k).take(), chip("v100", {{"core.block_launch", "1 cycle"}}));
  };
  const SimReport looped = report(0), unrolled = report(8);
  EXPECT_EQ(level(looped, "smem").transactions, level(unrolled, "smem").transactions);
  EXPECT_NEAR(running_cycles(unrolled), 8 * 512 * 15, 600) << "a pass each of eight warps";
  EXPECT_GT(running_cycles(looped), 8 * 512 * 64);
}

// One warp follows a chain through half of a cache's own partition, through both, and beyond.
TEST(Partitions, AreNearAndFar) {
  const arch::ArchSpec c = chip("a100", {{"memory.l2.capacity", "2560 KiB"},
                                         {"memory.l1.capacity", "32 KiB"},
                                         {"memory.smem.capacity", "16 KiB"},
                                         {"memory.smem.per_block", "15 KiB"}});
  const auto link = [&](std::int64_t lines) {
    const double longer = running_cycles(simulated(chase(lines, 32, 3), c));
    return (longer - running_cycles(simulated(chase(lines, 32, 2), c))) / static_cast<double>(lines) - 1;
  };
  EXPECT_NEAR(link(6000), 213, 2);    // 750 KiB of 1280
  EXPECT_NEAR(link(15000), 415, 20);  // 1875 KiB of 2560
  EXPECT_GT(link(60000), 480);        // 7500 KiB; neighbours find rows open
}

// Little's law: with so many lines under way, a core's bandwidth is bound by them. Blocks follow each other at once.
TEST(Misses, BoundABandwidth) {
  const auto cycles = [](const char* misses) {
    const arch::ArchSpec c =
        chip("v100", {{"memory.l1.mshrs", misses}, {"core.block_launch", "1 cycle"}, {"core.warp_launch", "1 cycle"}});
    return running_cycles(simulated(stream(1600, 256, 4, Stream::kRead), c));
  };
  EXPECT_GT(cycles("8"), 1.6 * cycles("16"));
}

// Warps whose lanes all lie outside of the tensor wait for their turn like others, and hand it on.
TEST(Misses, AreHandedOnByWarpsThatTouchNothing) {
  const lower::Module overhanging = tiled_product(17, 40, 6);
  const SimReport r = simulated(overhanging, chip("v100", {{"memory.l1.mshrs", "1"}}));
  EXPECT_EQ(r.kernels[0].counters, simulated(overhanging, v100()).kernels[0].counters);
}

TEST(Misses, AreNotBoundWhereACoreHasNoCache) {
  const arch::ArchSpec c =
      chip(source_path("tests/error/arch/minimal.yaml").string(), {{"memory.dram.latency", "400 cycles"},
                                                                   {"memory.l2.latency", "200 cycles"},
                                                                   {"memory.smem.latency", "20 cycles"}});
  ASSERT_EQ(arch::core_cache_of(c), nullptr);
  const SimReport r = simulated(stream(64, 256, 4, Stream::kRead), c);
  EXPECT_EQ(level(r, "dram").read_bytes, 64 * 256 * 4 * 16);
}

}  // namespace
}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
// The report adds up, is the same every time, and says what does not fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using testing::HasSubstr;

std::string error_of(const lower::Module& m, const arch::ArchSpec& chip) {
  try {
    simulated(m, chip);
  } catch (const SimError& e) {
    return e.what();
  }
  return "";
}

TEST(Report, StallsAddUpToAllCycles) {
  for (const Mode mode : {Mode::kFull, Mode::kSampled}) {
    const SimReport r = simulated(tiled_product(200, 200, 12), v100(), mode);
    std::int64_t sum = 0;
    for (const auto& [stall, cycles] : r.stalls) {
      EXPECT_GE(cycles, 0) << stall;
      sum += cycles;
    }
    EXPECT_EQ(sum, r.cycles);
    EXPECT_DOUBLE_EQ(r.time.v, static_cast<double>(r.cycles) * 1e6 / static_cast<double>(v100().clock.n));
  }
}

TEST(Report, LevelsBearTheChipsNamesAndMoveWhatTheKernelMoves) {
  const SimReport r = simulated(stream(1000, 256, 2, Stream::kCopy), v100());
  constexpr std::int64_t kBytes = 1000 * 256 * 2 * 16;
  std::vector<std::string> names;
  for (const LevelReport& l : r.levels) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"dram", "l2", "l1", "smem"}));
  EXPECT_EQ(level(r, "l2").read_bytes, kBytes);
  EXPECT_EQ(level(r, "l2").written_bytes, kBytes);
  EXPECT_EQ(level(r, "dram").read_bytes, kBytes);
  EXPECT_LE(level(r, "dram").written_bytes, kBytes);
  EXPECT_EQ(level(r, "l1").read_bytes, kBytes);
  EXPECT_EQ(level(r, "smem").transactions, 0);
}

TEST(Report, ReuseStaysInTheCaches) {
  const SimReport r = simulated(tiled_product(256, 256, 16), v100());
  EXPECT_EQ(level(r, "dram").read_bytes, 2 * 256 * 256 * 4);  // each element once
  EXPECT_GE(level(r, "l2").read_bytes, level(r, "dram").read_bytes);
}

TEST(Report, IsTheSameEveryTime) {
  const lower::Module m = tiled_product(333, 257, 20);
  const SimReport first = simulated(m, v100()), second = simulated(m, v100());
  EXPECT_EQ(first.cycles, second.cycles);
  EXPECT_EQ(first.stalls, second.stalls);
  EXPECT_EQ(first.kernels[0].counters, second.kernels[0].counters);
  EXPECT_EQ(level(first, "dram"), level(second, "dram"));
}

TEST(Report, DoesNotDependOnCalibrationOrBaselines) {
  arch::ArchSpec bare = v100();
  bare.calibration.clear();
  bare.baselines = {};
  const lower::Module m = tiled_product(128, 128, 4);
  EXPECT_EQ(simulated(m, v100()).cycles, simulated(m, bare).cycles);
}

TEST(Report, SeveralKernelsRunOneAfterTheOther) {
  lower::Module twice = tiled_product(128, 128, 4);
  const SimReport one = simulated(twice, v100());
  twice.kernels.push_back(twice.kernels.front());
  const SimReport both = simulated(twice, v100());
  ASSERT_EQ(both.kernels.size(), 2u);
  EXPECT_EQ(both.kernels[0].cycles, one.cycles);
  EXPECT_LT(both.kernels[1].cycles, one.cycles);  // the caches are warm
  EXPECT_EQ(both.cycles, both.kernels[0].cycles + both.kernels[1].cycles);
}

TEST(Report, SaysWhichLimitIsExceededAndByHowMuch) {
  EXPECT_THAT(error_of(stream(1, 2048, 1, Stream::kCopy), v100()),
              HasSubstr("threads of a block: needs 2048, v100 has 1024"));
  HandKernel k(1, 32);
  k.shared("tile", 100 * 256);
  EXPECT_THAT(error_of(k.module(), v100()), HasSubstr("bytes of scratchpad of a block: needs 102400, v100 has 98304"));
}

TEST(Report, OccupancyFollowsTheScarcestResource) {
  const auto resident = [](const HandKernel& k) { return simulated(k.module(), v100()).kernels[0].blocks_per_core; };
  EXPECT_EQ(resident(HandKernel(1, 32)), 32);  // blocks
  EXPECT_EQ(resident(HandKernel(1, 256)), 8);  // threads
  HandKernel wide(1, 256);
  wide.shared("tile", 6 * 1024);  // 24 KiB
  EXPECT_EQ(resident(wide), 4);
  HandKernel deep(1, 256);
  const int r = deep.registers("r", 120);  // 120 of 256 registers a thread, all in use at a time
  const int c = deep.global("C", 256 * 120, lower::Role::kOutput), i = deep.loop("i", 120);
  deep.add(loop_over(i, {assign({r, affine({{i, 1}})}, {r, affine({{i, 1}})})}, 120));
  deep.add(loop_over(i, {copy({c, affine({{i, 256}, {1, 1}})}, {r, affine({{i, 1}})})}, 120));
  EXPECT_EQ(resident(deep), 2);
}

TEST(Report, OccupancyLeavesTheSystemItsShareOfEveryBlock) {
  const auto resident = [](std::int64_t kib) {
    HandKernel k(1, 32);
    k.shared("tile", kib * 256);
    return simulated(k.module(), chip("a100")).kernels[0].blocks_per_core;
  };
  EXPECT_EQ(resident(40), 4);
  EXPECT_EQ(resident(41), 3) << "four of 41 KiB fill 164 KiB, and leave nothing for 1 KiB each";
}

}  // namespace
}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#include "arch/pipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arch/derive.h"
#include "tests/unit/arch/loading.h"

namespace tilescope::tests {
namespace {

using namespace arch;

TEST(Pipes, WhereAFileHasNoneAreOfFragmentsFunctionsArithmeticAndMemory) {
  ArchSpec a = chip_of("v100");
  a.core.pipes.clear();
  const std::vector<PipeSpec> pipes = pipes_of(a);
  ASSERT_EQ(pipes.size(), 4U);
  for (const ComputeSpec& c : a.compute) EXPECT_EQ(shares_of(pipes, c.name).size(), 1U) << c.name;
  EXPECT_EQ(pipes[shares_of(pipes, "mma.f16").at(0).pipe].executes, std::vector<std::string>{"mma.f16"});
  EXPECT_EQ(pipes[shares_of(pipes, "special.f32").at(0).pipe].executes, std::vector<std::string>{"special.f32"});
  EXPECT_EQ(lanes_of(pipes, kMemoryAccesses), a.core.warp);
  EXPECT_TRUE(shares_of(pipes, kIntegers).empty()) << "issue slots alone bound them";
  EXPECT_EQ(lanes_of(pipes, kScratchpadAccesses), 0);
}

// What no pipe bounds takes a warp's lanes in a cycle; a pipe's lanes do where there are some.
TEST(Pipes, TakeAWarpOfAccessesWhereNothingBoundsThem) {
  ArchSpec a = chip_of("mi50");
  a.core.pipes.clear();
  EXPECT_EQ(access_lanes_of(a, kMemoryAccesses), 64);
  EXPECT_EQ(access_lanes_of(a, kScratchpadAccesses), 64);
  a.core.pipes = {{"lsu", 16, {std::string(kMemoryAccesses)}}};
  EXPECT_EQ(access_lanes_of(a, kMemoryAccesses), 16);
  EXPECT_EQ(access_lanes_of(a, kScratchpadAccesses), 64);
  a.core.pipes.front().executes.emplace_back(kScratchpadAccesses);
  EXPECT_EQ(access_lanes_of(a, kScratchpadAccesses), 16);
}

// GA10x has 128 lanes for FP32, 64 of which integers may take: a warp of integers holds all of those for half a cycle,
// and of the whole as many.
TEST(Pipes, ThatShareAnInstructionLendItAsManyLanes) {
  const std::vector<PipeSpec> pipes = pipes_of(chip_of("rtx3090"));
  EXPECT_EQ(lanes_of(pipes, kIntegers), 64);
  const std::vector<PipeShare> shares = shares_of(pipes, kIntegers);
  ASSERT_EQ(shares.size(), 2U);
  for (const PipeShare& s : shares)
    EXPECT_DOUBLE_EQ(s.share * static_cast<double>(*pipes[s.pipe].lanes), 64) << pipes[s.pipe].name;
  EXPECT_DOUBLE_EQ(shares_of(pipes, "fma.f32").at(0).share, 1);
}

// Whatever a device's file says, no instruction of one element in a lane is faster than the lanes of its pipe.
TEST(Pipes, OfEveryDeviceHaveLanesForTheirInstructions) {
  for (const auto& [name, path] : list_devices()) {
    const ArchSpec a = chip_of(name);
    if (a.chip_class != ChipClass::kGpu) continue;
    const std::vector<PipeSpec> pipes = pipes_of(a);
    EXPECT_LE(pipes.size(), kMaxPipes) << name;
    for (const ComputeSpec& c : a.compute) {
      EXPECT_FALSE(shares_of(pipes, c.name).empty()) << name << ' ' << c.name;
      const std::int64_t lanes = lanes_of(pipes, c.name);
      if (c.dtype == Dtype::kF32 && c.m * c.n * c.k == 1 && lanes > 0) {
        EXPECT_LE(c.per_core, lanes) << name;
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::tests

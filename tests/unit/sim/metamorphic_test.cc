// A chip with more of something is not slower, one with less not faster; strictly so where the kernel is bound by it.

#include <gtest/gtest.h>

#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

double cycles(const lower::Module& m, const std::vector<arch::Override>& changes) {
  return running_cycles(simulated(m, chip("v100", changes)));
}

struct Change {
  const char* path;
  const char* value;
  bool better;
};

class NeverWrongWay : public testing::TestWithParam<Change> {};

TEST_P(NeverWrongWay, OnSeveralKernels) {
  // Chance of the address hash and of who comes first: blocks spread otherwise over banks, slices and cores.
  constexpr double kChance = 1.03;
  const Change c = GetParam();
  for (const lower::Module& m : {tiled_product(256, 256, 8), stream(600, 256, 2, Stream::kCopy),
                                 stream(600, 128, 4, Stream::kRead), arithmetic(200, 256, 512)}) {
    const double plain = cycles(m, {}), changed = cycles(m, {{c.path, c.value}});
    if (c.better)
      EXPECT_LE(changed, plain * kChance) << c.path;
    else
      EXPECT_GE(changed * kChance, plain) << c.path;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Chips, NeverWrongWay,
    testing::Values(Change{"memory.dram.rate", "4", true}, Change{"memory.dram.channels", "128", true},
                    Change{"memory.dram.banks", "32", true}, Change{"memory.l2.width", "64 B", true},
                    Change{"memory.l2.capacity", "12 MiB", true}, Change{"memory.smem.banks", "64", true},
                    Change{"link.width", "64 B", true}, Change{"core.count", "160", true},
                    Change{"compute.fma.f32.per_core", "128", true}, Change{"memory.dram.latency", "850 cycles", false},
                    Change{"memory.l2.latency", "320 cycles", false}, Change{"memory.smem.latency", "60 cycles", false},
                    Change{"memory.smem.banks", "8", false}, Change{"link.width", "8 B", false},
                    Change{"memory.dram.channels", "32", false},
                    Change{"compute.fma.f32.latency", "16 cycles", false}));

TEST(Metamorphic, WhatBindsCounts) {
  const lower::Module read = stream(2000, 256, 2, Stream::kRead);
  EXPECT_NEAR(cycles(read, {{"memory.dram.channels", "32"}}) / cycles(read, {}), 2, 0.2);
  const lower::Module work = arithmetic(320, 256, 2048);
  EXPECT_NEAR(cycles(work, {}) / cycles(work, {{"compute.fma.f32.per_core", "128"}}), 2, 0.1);
  EXPECT_NEAR(cycles(work, {}) / cycles(work, {{"core.count", "160"}}), 2, 0.1);
}

TEST(Metamorphic, CountersMoveAsArithmeticSays) {
  const lower::Module m = tiled_product(128, 128, 4);
  const auto plain = count(m, v100()), wide = count(m, chip("v100", {{"memory.l2.sector", "64 B"}}));
  // A row of a tile is 64 B: two sectors of 32, one of 64.
  EXPECT_EQ(plain[0][0].global.sectors, 2 * wide[0][0].global.sectors);
  const auto few = count(m, chip("v100", {{"memory.smem.banks", "8"}}));
  // 32 words in a row: one pass of 32 banks, four of 8.
  EXPECT_EQ(4 * plain[0][3].shared.passes, few[0][3].shared.passes);
}

}  // namespace
}  // namespace tilescope::sim

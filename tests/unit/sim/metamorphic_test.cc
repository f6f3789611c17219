// SPDX-License-Identifier: Apache-2.0
// A chip with more of something is not slower, one with less not faster; strictly so where the kernel is bound by it.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sim/gpu/detail/gpu.h"
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
  for (const lower::Module& m : {tiled_product(256, 256, 8), stream(1500, 256, 2, Stream::kCopy),
                                 stream(1500, 128, 4, Stream::kRead), arithmetic(200, 256, 512)}) {
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
                    Change{"memory.dram.channels", "32", false}, Change{"compute.fma.f32.latency", "16 cycles", false},
                    Change{"core.issue", "2", true}, Change{"core.pipes.lsu.lanes", "8", false},
                    Change{"core.pipes.int32.lanes", "16", false}));

TEST(Metamorphic, WhatBindsCounts) {
  const lower::Module read = stream(2000, 256, 2, Stream::kRead);
  EXPECT_NEAR(cycles(read, {{"memory.dram.channels", "32"}}) / cycles(read, {}), 2, 0.2);
  const lower::Module work = arithmetic(320, 256, 2048);
  EXPECT_NEAR(cycles(work, {}) / cycles(work, {{"compute.fma.f32.per_core", "128"}}), 2, 0.1);
  EXPECT_NEAR(cycles(work, {}) / cycles(work, {{"core.count", "160"}}), 2, 0.1);
}

// Of so many cores only those are made that a block can fall to: all of them would take 10 GB and a minute.
TEST(Metamorphic, CoresWithoutABlockChangeNothing) {
  const std::vector<arch::Override> many = {{"core.count", "65536"}};
  const lower::Module m = tiled_product(64, 64, 8);
  EXPECT_EQ(cycles(m, many), cycles(m, {}));
  EXPECT_EQ(Gpu(machine_of(chip("v100", many)), 16, 0.02).cores(), 16);
  EXPECT_EQ(Gpu(machine_of(v100()), 1000, 0.02).cores(), v100().core.count);
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

// Blocks read a tile each of rows shorter than a transaction, so that DRAM moves what no one asked for: every burst
// that a row touches, once, and no other.
TEST(Metamorphic, RowsShorterThanATransactionCostWhatTheyWaste) {
  constexpr std::int64_t kBlocks = 48, kRows = 32, kPitch = 1 << 12;  // floats from row to row
  for (const std::int64_t floats : {1, 3, 4, 6, 8})
    for (const std::int64_t transaction : {32, 64, 128}) {
      const std::int64_t apart = 2 * floats + 5;  // floats from tile to tile; no multiple of a transaction
      HandKernel k(kBlocks, kRows * floats);
      const int a = k.global("A", kRows * kPitch), r = k.registers("r", 1), s = k.registers("s", 1);
      const int row = k.derived("row", affine({{1, 1}}), floats, 0), at = k.derived("at", affine({{1, 1}}), 1, floats);
      k.add(copy({r, {}}, {a, affine({{0, apart}, {row, kPitch}, {at, 1}})}));
      k.add(assign({s, {}}, {r, {}}));

      std::set<std::int64_t> touched;
      for (std::int64_t block = 0; block < kBlocks; ++block)
        for (std::int64_t y = 0; y < kRows; ++y)
          for (std::int64_t x = 0; x < floats; ++x) touched.insert((block * apart + y * kPitch + x) * 4 / transaction);
      const std::int64_t moved = static_cast<std::int64_t>(touched.size()) * transaction;

      const arch::ArchSpec c = chip("v100", {{"memory.dram.burst", std::to_string(transaction / 8)},
                                             {"memory.dram.rate", std::to_string(transaction / 16)},
                                             {"memory.l2.sector", std::to_string(transaction) + " B"},
                                             {"memory.l1.sector", std::to_string(transaction) + " B"}});
      const LevelStatistics dram = level(simulated(k.module(), c), "dram");
      EXPECT_EQ(dram.read_bytes, moved) << floats << " floats in transactions of " << transaction << " B";
      EXPECT_EQ(dram.written_bytes, 0);
      EXPECT_GT(moved, kBlocks * kRows * floats * 4) << "something is wasted";
    }
}

}  // namespace
}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
// What is left out is what would have happened: `sampled` against `full` on kernels long enough to be sampled.

#include <gtest/gtest.h>

#include "tests/support/lowered.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

constexpr double kClose = 0.03;

enum class LeftOut : std::uint8_t { kSteps, kBlocks };

void expect_close(const lower::Module& m, const arch::ArchSpec& chip, LeftOut what, double least,
                  double close = kClose) {
  const SimReport full = simulated(m, chip), sampled = simulated(m, chip, Mode::kSampled);
  EXPECT_NEAR(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles), 1, close);
  for (const char* name : {"dram", "l2"}) {
    const auto bytes = [&](const SimReport& r) {
      return static_cast<double>(level(r, name).read_bytes + level(r, name).written_bytes);
    };
    EXPECT_NEAR(bytes(sampled) / bytes(full), 1, close) << name;
  }
  for (std::size_t n = 0; n < m.kernels.size(); ++n) {
    const KernelReport& k = sampled.kernels[n];
    EXPECT_FALSE(k.exact);
    const double blocks = static_cast<double>(k.simulated_blocks) / static_cast<double>(k.blocks);
    EXPECT_LT(what == LeftOut::kSteps ? k.simulated_steps_ratio : blocks, 1 - least);
    EXPECT_LT(k.simulated_steps_ratio, 1) << "blocks that are left out leave out their steps";
    for (std::size_t c = 0; c < k.counters.size(); ++c)
      for (const auto side : {&lower::CopyCount::global, &lower::CopyCount::shared}) {
        const auto requests = static_cast<double>((full.kernels[n].counters[c].*side).requests);
        EXPECT_NEAR(static_cast<double>((k.counters[c].*side).requests), requests, close * requests + 1);
      }
  }
}

// A quarter of a v100, on which as many waves are a quarter of the work.
arch::ArchSpec quarter() {
  return chip("v100", {{"core.count", "20"},
                       {"memory.dram.channels", "16"},
                       {"memory.l2.slices", "16"},
                       {"memory.l2.capacity", "1536 KiB"}});
}

TEST(Sampled, LeavesOutStepsWithAnEdge) {
  expect_close(tiled_product(300, 410, 300, 1), v100(), LeftOut::kSteps, 0.5, 0.045);
}
TEST(Sampled, LeavesOutWavesOfAStream) {
  expect_close(stream(7500, 256, 2, Stream::kCopy), quarter(), LeftOut::kBlocks, 0.3);
}
TEST(Sampled, LeavesOutWavesOfReads) {
  expect_close(stream(10000, 128, 4, Stream::kRead), quarter(), LeftOut::kBlocks, 0.3);
}
TEST(Sampled, LeavesOutWavesOfSteps) {
  expect_close(tiled_product(1600, 960, 8), quarter(), LeftOut::kBlocks, 0.05, 0.05);
}

// The second kernel finds the device's cache full of what the first one wrote.
TEST(Sampled, LeavesOutWavesOfEveryKernel) {
  lower::Module m = stream(5000, 256, 2, Stream::kCopy);
  m.kernels.push_back(m.kernels.front());
  expect_close(m, quarter(), LeftOut::kBlocks, 0.3);
}

// Cores with three blocks and cores with two: each at its own rate.
TEST(Sampled, KeepsUnevenCoresApart) {
  expect_close(tiled_product(160, 320, 400), v100(), LeftOut::kSteps, 0.4, 0.045);
}

// Cores with as many blocks whose rates differ, here by which of them fetch first from the DRAM.
TEST(Sampled, FollowsCoresThatDriftApart) { expect_close(tiled_product(320, 320, 300), v100(), LeftOut::kSteps, 0.5); }

// Blocks that lag behind find in the device's cache what those ahead of them brought in steps that a jump left out.
TEST(Sampled, BringsWhatSkippedStepsBring) {
  expect_close(tiled_product(150, 205, 300, 1), quarter(), LeftOut::kSteps, 0.4, 0.045);
}
TEST(Sampled, BringsWhatSkippedStepsBringOnUnevenCores) {
  expect_close(tiled_product(80, 160, 400), quarter(), LeftOut::kSteps, 0.4, 0.045);
}

// Of a block that a jump puts at its first step some warps were a step ahead: they meet at its barriers all the same.
TEST(Sampled, KeepsWarpsOfABlockTogether) {
  const tile::RProgram p = program(
      R"({"arch": "v100", "nodes": [{"expr": "C[m,n] +=! A[m,k] * B[k,n]", "sizes": {"m": 2048, "n": 1024, "k": 256},
          "dtype": "f32", "tiles": {"smem": {"m": 64, "n": 64, "k": 8}},
          "mapping": {"m": {"vthread": 8, "threads": 8}, "n": {"vthread": 2, "threads": 16, "per_thread": 2}},
          "cached": {"A": "smem", "B": "smem"}, "vector": {"A": 4, "B": 4, "C": 2}, "num_stages": 2}], "edges": []})",
      v100());
  expect_close(lowered(p, v100()), quarter(), LeftOut::kSteps, 0.4, 0.045);
}

// The producer warp is some steps ahead of the others, in a jump and behind it.
TEST(Sampled, LeavesOutStepsOfSpecialisedWarps) {
  const arch::ArchSpec c = chip("v100", {{"core.count", "20"},
                                         {"core.tma", tests::kTma},
                                         {"memory.dram.channels", "16"},
                                         {"memory.l2.slices", "16"},
                                         {"memory.l2.capacity", "1536 KiB"}});
  for (const std::int64_t slots : {1, 5}) expect_close(ring(60, 400, slots), c, LeftOut::kSteps, 0.3, 0.045);
  expect_close(ring(600, 64, 3), c, LeftOut::kSteps, 0.3, 0.045);
}

// What is written stays in the device's cache until that is full, of copies that its partitions keep of each other's
// lines too: what comes before tells nothing of what comes then.
TEST(Sampled, SeesACacheOfPartitionsFill) {
  const arch::ArchSpec c = chip("a100", {{"core.count", "28"},
                                         {"memory.dram.channels", "20"},
                                         {"memory.l2.slices", "20"},
                                         {"memory.l2.capacity", "5 MiB"}});
  for (const std::int64_t blocks : {1500, 2200, 2500}) {
    const lower::Module m = stream(blocks, 64, 1, Stream::kCopy);
    const SimReport full = simulated(m, c), sampled = simulated(m, c, Mode::kSampled);
    EXPECT_NEAR(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles), 1, kClose) << blocks;
  }
}

TEST(Sampled, OfAShortKernelIsFull) {
  const lower::Module m = tiled_product(96, 96, 4);
  const SimReport sampled = simulated(m, v100(), Mode::kSampled);
  EXPECT_TRUE(sampled.kernels[0].exact);
  EXPECT_EQ(sampled.cycles, simulated(m, v100()).cycles);
}

}  // namespace
}  // namespace tilescope::sim

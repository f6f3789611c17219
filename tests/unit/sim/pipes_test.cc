// SPDX-License-Identifier: Apache-2.0
// Instructions of pipes of their own go side by side, as far as slots to issue them reach; those of one pipe one after
// the other.

#include <gtest/gtest.h>

#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

// Cycles of a partition in which each of four warps multiplies and adds once in every dtype.
double each(const std::vector<base::Dtype>& dtypes, std::vector<arch::Override> set) {
  constexpr std::int64_t kTimes = 512, kWarps = 4, kSums = 48;
  set.push_back({"core.block_launch", "1 cycle"});
  const arch::ArchSpec chip = tests::chip("v100", set);
  const auto cycles = [&](std::int64_t times) {
    HandKernel k(chip.core.count, chip.core.partitions * kWarps * 32);
    const int i = k.loop("i", times), j = k.loop("j", kSums);
    std::vector<Statement> body;
    for (const base::Dtype dtype : dtypes) {
      const int sums = k.registers("sums", kSums, dtype), x = k.registers("x", 1, dtype);
      body.push_back(multiply_add({sums, affine({{j, 1}})}, {x, {}}, {x, {}}));
    }
    k.add(loop_over(i, {loop_over(j, std::move(body), kSums)}));
    return running_cycles(simulated(std::move(k).take(), chip));
  };
  return (cycles(2 * kTimes) - cycles(kTimes)) / (kTimes * kSums * kWarps);
}

constexpr base::Dtype kF32 = base::Dtype::kF32, kF64 = base::Dtype::kF64;

TEST(Pipes, WorkSideBySide) {
  EXPECT_NEAR(each({kF32}, {}), 2, 0.1) << "a warp of 32 on 16 lanes of a partition";
  EXPECT_NEAR(each({kF64}, {}), 4, 0.1) << "on 8";
  EXPECT_NEAR(each({kF32, kF64}, {}), 4, 0.1);
  const std::vector<arch::Override> shared = {{"core.pipes.fp32.executes", "[fma.f32, fma.f16, fma.f64]"},
                                              {"core.pipes.fp32.lanes", "64"},
                                              {"core.pipes.fp64.lanes", "64"}};
  EXPECT_NEAR(each({kF64}, shared), 4, 0.1);
  EXPECT_NEAR(each({kF32, kF64}, shared), 2 + 4, 0.1) << "one after the other";
}

TEST(Pipes, AreBoundByTheSlotsThatIssue) {
  const std::vector<arch::Override> wide = {{"compute.fma.f32.per_core", "128"},
                                            {"compute.fma.f32.peak", "28.26 TFLOP/s"},
                                            {"compute.fma.f64.per_core", "128"},
                                            {"compute.fma.f64.peak", "28.26 TFLOP/s"}};
  EXPECT_NEAR(each({kF32}, wide), 1, 0.1);
  EXPECT_NEAR(each({kF32, kF64}, wide), 2, 0.1) << "a slot a cycle";
  std::vector<arch::Override> dual = wide;
  dual.push_back({"core.issue", "2"});
  EXPECT_NEAR(each({kF32, kF64}, dual), 1, 0.1) << "of two pipes together";
  EXPECT_NEAR(each({kF32}, dual), 1, 0.1) << "two of one only where it has lanes for both";
}

// Of 64 places of three registers in four banks, 4 have all in one and 36 two.
TEST(Pipes, WaitForRegistersOfOneBank) {
  const std::vector<arch::Override> wide = {{"compute.fma.f32.per_core", "128"},
                                            {"compute.fma.f32.peak", "28.26 TFLOP/s"}};
  std::vector<arch::Override> banks = wide;
  banks.push_back({"core.register_banks", "4"});
  const double none = each({kF32}, wide);
  EXPECT_NEAR(each({kF32}, banks) - none, (4 * 2 + 36) / 64.0, 0.01);
  banks.push_back({"compiler.bank_conflicts", "0.5"});
  EXPECT_NEAR(each({kF32}, banks) - none, (4 * 2 + 36) / 128.0, 0.01);
  EXPECT_NEAR(each({kF32}, {{"core.register_banks", "4"}}), 2, 0.1) << "the scheduler waits less than the lanes take";
}

}  // namespace
}  // namespace tilescope::sim

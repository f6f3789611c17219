// SPDX-License-Identifier: Apache-2.0
// Products of factors in the scratchpad take the longer of two times: the units' and the scratchpad's.

#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

// Cycles of one instruction of 64 rows, `columns` and 16 products, where two warp groups issue one after the other.
double each(std::int64_t columns, const arch::ArchSpec& chip) {
  constexpr std::int64_t kGroups = 2, kTimes = 1024;
  const auto cycles = [&](std::int64_t times) {
    lower::KernelBuilder k("products", chip.core.count, 128 * kGroups);
    const base::Dtype f16 = base::Dtype::kF16;
    const int a = k.shared("A_tile", 64 * 16, f16), b = k.shared("B_tile", columns * 16, f16);
    const int sums = k.registers("C_part", columns / 2);
    const int step = k.indices().loop("step", times);
    k.kernel().warp = 32;
    k.kernel().matrix_instructions = {{"wgmma.f16", {64, 8, 16}, 128, f16, base::Dtype::kF32, {}, {}, {}, {}, {}}};
    const lower::Wgmma product{
        0, columns, {sums, {}}, lower::SharedOperand{{a, {}}, 128, 64, false}, {{b, {}}, 128, 64, false}};
    k.add({lower::WgmmaFence{sums}, {}});
    k.add(lower::loop_over(step, {{product, {}}}));
    k.add({lower::WgmmaCommitWait{sums}, {}});
    return running_cycles(simulated(std::move(k).take(), chip));
  };
  return (cycles(2 * kTimes) - cycles(kTimes)) / (kTimes * kGroups);
}

TEST(WgmmaProducts, TakeTheLongerOfUnitsAndScratchpad) {
  // 64 x 16 multiply-adds a column at 2048 a cycle; (64 + columns) x 32 B at 128 B a cycle.
  EXPECT_NEAR(each(256, h100()), 128, 2);
  EXPECT_NEAR(each(128, h100()), 64, 2);
  EXPECT_NEAR(each(8, h100()), 18, 2);
}

TEST(WgmmaProducts, LoseByBanksWhereTheyHaveFewColumns) {
  const arch::ArchSpec narrow = chip("h100_pcie", {{"memory.smem.banks", "16"}});
  EXPECT_NEAR(each(64, h100()), 32, 2) << "as long for the units as for the scratchpad";
  EXPECT_NEAR(each(64, narrow), 64, 2);
  EXPECT_NEAR(each(256, narrow), 160, 2);
}

TEST(WgmmaProducts, NeedAnInstructionOfTheChip) {
  EXPECT_THROW(each(512, chip("h100_pcie")), SimError) << "wider than any";
  EXPECT_THROW(each(64, chip("a100")), SimError);
}

}  // namespace
}  // namespace tilescope::sim

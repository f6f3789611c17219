// SPDX-License-Identifier: Apache-2.0
// What one thread that follows a chain measures on the simulated chip is what the chip's file says.

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "sim/gpu/detail/machine.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

// Cycles of one link of the chain, from chains of two lengths; the move behind each load takes one cycle.
double link(const arch::ArchSpec& chip, std::int64_t count, std::int64_t stride_bytes, std::int64_t passes) {
  const std::int64_t stride = stride_bytes / 4;
  const double longer = running_cycles(simulated(chase(count, stride, passes + 1), chip));
  const double shorter = running_cycles(simulated(chase(count, stride, passes), chip));
  return (longer - shorter) / static_cast<double>(count) - 1;
}

class Latency : public testing::TestWithParam<const char*> {
 protected:
  arch::ArchSpec chip_ = chip(GetParam());
};

TEST_P(Latency, OfTheCoreCache) {
  const arch::CacheLevel& l1 = *arch::core_cache_of(chip_);
  EXPECT_NEAR(link(chip_, 32, 128, 2), static_cast<double>(l1.latency->n), 0.5);
}

TEST_P(Latency, OfTheDeviceCache) {
  const arch::CacheLevel& l2 = *arch::device_cache_of(chip_);
  // Four times what the core's cache holds, and half of what the device's does.
  const std::int64_t lines = std::min(4 * arch::core_cache_of(chip_)->capacity.n, l2.capacity.n / 2) / 128;
  EXPECT_NEAR(link(chip_, lines, 128, 1), static_cast<double>(l2.latency->n), 1.5);
}

TEST_P(Latency, OfTheDram) {
  const arch::DramLevel& dram = *arch::dram_of(chip_);
  const auto cycles = [&](std::int64_t count) {
    return running_cycles(simulated(chase(count, (1 << 20) / 4 + 32, 1), chip_));
  };
  // The first accesses find closed banks; later ones another row, or seldom the same.
  const double each = (cycles(6000) - cycles(3000)) / 3000 - 1;
  EXPECT_NEAR(each, static_cast<double>(dram.latency->n), 0.02 * static_cast<double>(dram.latency->n));
}

INSTANTIATE_TEST_SUITE_P(Chips, Latency,
                         testing::Values("v100", "a100", "h100_pcie", "rtx2080ti", "k80", "mi50", "tilescope_one"));

TEST(Latency, OfScratchpadAndArithmeticAddUpInAChain) {
  constexpr std::int64_t kCount = 1000;
  HandKernel k(1, 1);
  const int sum = k.registers("sum", 1), x = k.registers("x", 1), i = k.loop("i", kCount);
  k.add(loop_over(i, {multiply_add({sum, {}}, {x, {}}, {x, {}})}, kCount));
  EXPECT_NEAR(running_cycles(simulated(k.module(), v100())), 4 * kCount, 8);
}

// An instruction of the chip as kernels name it; one that it lacks where it has none of the name.
lower::MatrixInstruction instruction(const arch::ArchSpec& chip, const std::string& name) {
  for (const arch::ComputeSpec& c : chip.compute)
    if (c.name == name)
      return {c.name,         {c.m, c.n, c.k}, chip.core.warp, c.dtype, c.accumulate,
              c.fragments->a, c.fragments->b,  c.fragments->c, {},      {}};
  return {name, {16, 8, 16}, chip.core.warp, base::Dtype::kF16, base::Dtype::kF32, {}, {}, {}, {}, {}};
}

// Warps that multiply fragments, each `chains` sums in turn, `count` times; the loop is unrolled wholly, so that
// nothing else is issued.
lower::Module products(std::int64_t warps, std::int64_t chains, std::int64_t count, const arch::ArchSpec& chip,
                       const std::string& name = "mma.f16") {
  const lower::MatrixInstruction of = instruction(chip, name);
  HandKernel k(1, of.lanes * warps);
  k.kernel().warp = of.lanes;
  const std::int64_t each = of.shape.m * of.shape.n / of.lanes;
  const int sums = k.registers("sums", each * chains), i = k.loop("i", count);
  const int a = k.registers("a", 32, of.elements), b = k.registers("b", 32, of.elements);
  const int chain = k.loop("chain", chains);
  k.kernel().matrix_instructions = {of};
  const lower::Mma multiply{0, {sums, affine({{chain, each}})}, {a, {}}, {b, {}}};
  k.add(loop_over(i, {loop_over(chain, {{multiply, {}}}, chains)}, count));
  return std::move(k).take();
}

TEST(Latency, OfMatrixInstructionsIsTheChipsAndIsHiddenByOthers) {
  constexpr std::int64_t kCount = 200;
  const arch::ArchSpec a100 = chip("a100");
  EXPECT_NEAR(running_cycles(simulated(products(1, 1, kCount, a100), a100)), 25 * kCount, 8)
      << "each waits for the last";
  // A partition multiplies and adds 1024 / 4 a cycle, of 2048: one in eight cycles.
  EXPECT_NEAR(running_cycles(simulated(products(4, 8, kCount, a100), a100)), 8 * 8 * kCount, 40);
  // Of tf32 half as many multiply-adds make an instruction, and half as many a cycle.
  const auto of_tf32 = [&](std::int64_t warps, std::int64_t chains) {
    return running_cycles(simulated(products(warps, chains, kCount, a100, "mma.tf32"), a100));
  };
  EXPECT_NEAR(of_tf32(1, 1), 25 * kCount, 8);
  EXPECT_NEAR(of_tf32(4, 8), 8 * 8 * kCount, 40);
}

// Of 64 lanes: 8192 multiply-adds, 128 a cycle of each of four partitions. Of 16: 2048 at 128.
TEST(Latency, OfOtherVendorsMatrixInstructionsIsTheChips) {
  constexpr std::int64_t kCount = 100;
  const arch::ArchSpec mi210 = chip("mi210"), two = chip("tilescope_two");
  EXPECT_NEAR(running_cycles(simulated(products(4, 2, kCount, mi210), mi210)), 2 * 64 * kCount, 80);
  EXPECT_NEAR(running_cycles(simulated(products(1, 1, kCount, two, "dpas.f16"), two)), 24 * kCount, 40);
  EXPECT_NEAR(running_cycles(simulated(products(8, 4, kCount, two, "dpas.f16"), two)), 4 * 16 * kCount, 40);
}

TEST(Latency, OfMatrixInstructionsThatAChipLacksIsUnknown) {
  EXPECT_THROW(simulated(products(1, 1, 1, chip("k80")), chip("k80")), SimError);
}

}  // namespace
}  // namespace tilescope::sim

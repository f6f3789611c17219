// SPDX-License-Identifier: Apache-2.0
// What a reduction over neighbouring lanes costs a warp, counted by hand: for each doubling of the lanes a shuffle of
// every word and a step of the reducer.

#include <algorithm>

#include <gtest/gtest.h>

#include "arch/derive.h"
#include "sim/gpu/detail/arithmetic.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;

ArithmeticCost cost(std::int64_t lanes, const arch::ArchSpec& a, base::Dtype dtype = base::Dtype::kF32) {
  lower::KernelBuilder k("lanes", 1, 32);
  k.kernel().warp = a.core.warp;
  const int r = k.registers("sum", 1, dtype);
  const std::vector<arch::PipeSpec> pipes = arch::pipes_of(a);
  return Arithmetic(a, pipes).cost(lower::ReduceLanes{{r, {}}, expr::Reducer::kSum, lanes}, k.kernel());
}

// From one step to the next: the crossbar of the scratchpad, then the reducer.
std::int64_t step_latency(const arch::ArchSpec& a, base::Dtype dtype = base::Dtype::kF32) {
  return arch::scratchpad_of(a)->latency->n + arch::scalar_unit_of(a, dtype, dtype)->latency.n;
}

// The one pipe of an instruction, for so many cycles, and no other.
PipeParts held(const arch::ArchSpec& a, std::string_view instruction, std::int64_t cycles) {
  PipeParts pipes{};
  pipes[arch::shares_of(arch::pipes_of(a), instruction).at(0).pipe] = cycles * kCycleParts;
  return pipes;
}

TEST(ReduceLanes, TakeAShuffleAndAStepForEachDoubling) {
  for (const auto& [lanes, steps] : {std::pair(2, 1), {8, 3}, {32, 5}}) {
    SCOPED_TRACE(lanes);
    const ArithmeticCost c = cost(lanes, v100());
    EXPECT_EQ(c.issue, 2 * steps);
    EXPECT_EQ(c.passes, steps) << "32 lanes a cycle";
    EXPECT_EQ(c.pipes, held(v100(), "fma.f32", steps * 2)) << "a warp on 16 lanes of a partition";
    EXPECT_EQ(c.latency, steps * step_latency(v100()));
  }
}

TEST(ReduceLanes, ShuffleEveryWord) {
  const ArithmeticCost c = cost(32, v100(), base::Dtype::kF64);
  EXPECT_EQ(c.issue, 5 * (2 + 1));
  EXPECT_EQ(c.passes, 5 * 2);
  EXPECT_EQ(c.pipes, held(v100(), "fma.f64", 5 * 4)) << "a warp on 8 lanes of a partition";
  EXPECT_EQ(c.latency, 5 * step_latency(v100(), base::Dtype::kF64));
}

TEST(ReduceLanes, TakeAsManyPassesAsTheCrossbarNeeds) {
  EXPECT_EQ(cost(32, chip("v100", {{"core.shuffle", "8"}})).passes, 5 * 4);
  const ArithmeticCost wide = cost(64, chip("mi210"));
  EXPECT_EQ(wide.issue, 6 * 2);
  EXPECT_EQ(wide.passes, 6 * 2) << "64 lanes, 32 a cycle";
}

// The pipes are the machine's, found once, and not found anew for each statement.
TEST(ReduceLanes, HoldThePipesOfTheMachine) {
  const arch::ArchSpec a = v100();
  std::vector<arch::PipeSpec> pipes = arch::pipes_of(a);
  std::reverse(pipes.begin(), pipes.end());
  lower::KernelBuilder k("lanes", 1, 32);
  k.kernel().warp = a.core.warp;
  const int r = k.registers("sum", 1);
  const ArithmeticCost c = Arithmetic(a, pipes).cost(lower::ReduceLanes{{r, {}}, expr::Reducer::kSum, 2}, k.kernel());
  EXPECT_EQ(c.pipes[arch::shares_of(pipes, "fma.f32").at(0).pipe], 2 * kCycleParts);
}

TEST(ReduceLanes, NeedShuffles) {
  arch::ArchSpec a = v100();
  a.core.shuffle.reset();
  EXPECT_THROW(cost(2, a), SimError);
}

// A warp alone waits for every step; its shuffles are passes of the scratchpad.
TEST(ReduceLanes, OfOneWarpFollowEachOther) {
  const auto run = [](std::int64_t times) {
    HandKernel k(1, 32);
    const int r = k.registers("sum", 1), i = k.loop("i", times);
    k.add(assign({r, {}}, {r, {}}));
    k.add(loop_over(i, {{lower::ReduceLanes{{r, {}}, expr::Reducer::kSum, 32}, {}}}));
    return simulated(std::move(k).take(), v100());
  };
  const SimReport longer = run(2000), shorter = run(1000);
  EXPECT_NEAR((running_cycles(longer) - running_cycles(shorter)) / 1000,
              5.0 * static_cast<double>(step_latency(v100())), 1);
  EXPECT_EQ(level(longer, "smem").transactions - level(shorter, "smem").transactions, 5 * 1000);
}

// Many warps keep the crossbar busy: five passes a reduction, one a cycle, and not their latency.
TEST(ReduceLanes, OfManyWarpsKeepTheCrossbarBusy) {
  const auto cycles = [](std::int64_t times) {
    HandKernel k(1, 1024);
    const int r = k.registers("sum", 1), i = k.loop("i", times);
    k.add(assign({r, {}}, {r, {}}));
    k.add(loop_over(i, {{lower::ReduceLanes{{r, {}}, expr::Reducer::kSum, 32}, {}}}));
    return running_cycles(simulated(std::move(k).take(), v100()));
  };
  EXPECT_NEAR((cycles(2000) - cycles(1000)) / 1000, std::max(32.0 * 5, 5.0 * static_cast<double>(step_latency(v100()))),
              8);
}

}  // namespace
}  // namespace tilescope::sim

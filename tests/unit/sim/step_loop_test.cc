// SPDX-License-Identifier: Apache-2.0
// What of a body a warp does by itself, and which of its loops is that over steps.

#include "sim/gpu/detail/step_loop.h"

#include <gtest/gtest.h>

#include "sim/gpu/detail/body_parts.h"
#include "sim/gpu/detail/warp_code.h"
#include "tests/unit/sim/kernels.h"

namespace tilescope::sim {
namespace {

using namespace tests;
using Part = BodyParts::Part;

struct Bodies : testing::Test {
  HandKernel k{2, 32};
  int a = k.global("A", 4096), r = k.registers("r", 4), s = k.registers("s", 1), tile = k.shared("T", 64);
  int i = k.loop("i", 4);
  Statement load = copy({r, affine({{i, 1}})}, {a, affine({{1, 1}})});
  Statement use = assign({s, {}}, {r, affine({{i, 1}})});
  Statement store = copy({a, affine({{1, 1}})}, {s, {}});
  Statement place = copy({tile, affine({{1, 1}})}, {s, {}});
};

TEST_F(Bodies, AWarpDoesByItselfWhatNeedsNoMemoryAndNoOtherWarp) {
  const BodyParts parts(k.kernel());
  EXPECT_TRUE(parts.alone(use));
  EXPECT_TRUE(parts.alone(place)) << "its scratchpad is the core's";
  EXPECT_FALSE(parts.alone(load));
  EXPECT_FALSE(parts.alone(store));
  EXPECT_FALSE(parts.alone(barrier()));
  EXPECT_TRUE(parts.alone(loop_over(i, {use, place})));
  EXPECT_FALSE(parts.alone(loop_over(i, {use, barrier()})));
}

TEST_F(Bodies, LoadsRunAheadOfALoopOfThemAndTheirUsesAlone) {
  const BodyParts parts(k.kernel());
  const auto ahead = [&](std::vector<Statement> body) {
    return parts.loads_ahead(std::get<lower::Loop>(loop_over(i, std::move(body)).what));
  };
  EXPECT_TRUE(ahead({load, use}));
  EXPECT_FALSE(ahead({load})) << "nothing is done with them";
  EXPECT_FALSE(ahead({use}));
  EXPECT_FALSE(ahead({load, use, store}));
  EXPECT_FALSE(ahead({load, barrier(), use}));
  EXPECT_TRUE(parts.has(load, Part::kLoads));
  EXPECT_FALSE(parts.has(load, Part::kRest));
  EXPECT_FALSE(parts.has(use, Part::kLoads));
  EXPECT_TRUE(parts.has(use, Part::kRest));
  EXPECT_TRUE(parts.has(use, Part::kAll));
}

// Operations of loops that hold one operation each, one after the other.
struct Loops {
  std::vector<CodeLoop> loops;
  std::vector<WarpOp> ops;

  void add(std::int64_t iterations, WarpOp::Kind inside, int number) {
    const auto at = static_cast<int>(ops.size());
    ops.push_back({.kind = WarpOp::Kind::kLoop, .jump = at + 3, .number = number});
    ops.push_back({.kind = inside});
    ops.push_back({.kind = WarpOp::Kind::kEndLoop, .jump = at + 1, .number = number});
    if (number == static_cast<int>(loops.size())) loops.push_back({.slot = 2 + number, .high = iterations - 1});
  }
};

TEST(StepLoop, TheLongestInWhichWarpsMeetMemoryOrEachOther) {
  HandKernel k(1, 64);
  for (const char* name : {"x", "y", "z"}) k.loop(name, 100);
  const KernelIndices indices(k.kernel(), 32);
  Loops l;
  l.add(8, WarpOp::Kind::kBarrier, 0);
  l.add(9, WarpOp::Kind::kSegment, 1);
  l.add(50, WarpOp::Kind::kStore, 2);  // which meets none
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 0, {}, indices).number, 1);
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 2, {}, indices).number, -1) << "no loop is in both roles";
  l.add(8, WarpOp::Kind::kMbarrierWait, 0);
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 2, {}, indices).number, 0);
  l.loops[0].from = 7;
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 2, {}, indices).number, -1) << "a loop inside of one that jumps";
}

TEST(StepLoop, ItsIterationsAdvanceAnMbarrierAlikeEverywhere) {
  HandKernel k(1, 64);
  const int x = k.loop("x", 100);
  k.kernel().mbarriers.resize(2);
  const KernelIndices indices(k.kernel(), 32);
  Loops l;
  l.add(8, WarpOp::Kind::kMbarrierWait, 0);
  l.loops[0].slot = x;
  std::vector<MbarrierPhase> phases = {{0, indices.form(affine({{x, 2}}), 1)},
                                       {0, indices.form(affine({{x, 2}}, 5), 1)}};
  const StepLoop found = step_loop_of(l.ops, l.loops, 0, phases, indices);
  EXPECT_EQ(found.number, 0);
  EXPECT_EQ(found.phases, (std::vector<std::int64_t>{2, 0}));
  phases.push_back({1, indices.form(affine({{x, 1}}), 1)});
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 0, phases, indices).phases, (std::vector<std::int64_t>{2, 1}));
  phases.push_back({0, indices.form(affine({{x, 1}}), 1)});
  EXPECT_EQ(step_loop_of(l.ops, l.loops, 0, phases, indices).number, -1);
}

}  // namespace
}  // namespace tilescope::sim

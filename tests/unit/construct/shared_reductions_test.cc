// SPDX-License-Identifier: Apache-2.0
// Reductions that threads share are constructed where results are few.

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "construct/roller.h"
#include "tests/unit/construct/construct_on.h"
#include "tile/shared_reduction.h"

namespace tilescope::construct {
namespace {

// What a program may do with a reduction.
enum class Among { kAll, kAlone, kAloneInOneKernel };

// The best program of the operator among those.
Ranked best(const char* op, const char* sizes, const tests::ChipWithCostModel& chip, Among which) {
  const CostModel all = chip.cost_model();
  const CostModel cost = [&](const tile::RProgram& p) {
    const tile::StageProgram& stage = p.simt().front();
    const bool split = std::any_of(stage.split.begin(), stage.split.end(), [](std::int64_t n) { return n > 1; });
    const bool left_out = which != Among::kAll && (stage.sharers() > 1 || (split && which == Among::kAloneInOneKernel));
    return left_out ? base::Microseconds{std::numeric_limits<double>::infinity()} : all(p);
  };
  const auto found = roller(tests::expression(op, sizes), chip.spec, cost, 1);
  EXPECT_FALSE(found.empty());
  return found.at(0);
}

// A launch is most of the time of the best program, and blocks that share the reduction need a second one.
TEST(SharedReductions, OfOneRowAreFasterThanAnyOther) {
  const tests::ChipWithCostModel a100("a100");
  for (const char* op : {"O[i] +=! I[i,k]", "O[i] max=! I[i,k]"}) {
    SCOPED_TRACE(op);
    const Ranked shared = best(op, "i=1,k=4096", a100, Among::kAll);
    const Ranked alone = best(op, "i=1,k=4096", a100, Among::kAlone);
    const Ranked one_kernel = best(op, "i=1,k=4096", a100, Among::kAloneInOneKernel);
    EXPECT_GT(shared.program.sharers(), 1);
    EXPECT_EQ(tile::sharing_refusal(shared.program, a100.spec), "");
    EXPECT_EQ(alone.program.sharers(), 1);
    EXPECT_LT(2 * shared.time.v, alone.time.v);
    EXPECT_LT(3 * shared.time.v, one_kernel.time.v);
  }
}

// X[j] keeps the two loops apart, and both are as long: lanes along i would read another row each.
TEST(SharedReductions, AreAlongRowsWhereTwoAxesAreReduced) {
  const tests::ChipWithCostModel a100("a100");
  for (const char* sizes : {"u=1,i=8192,j=8192", "u=1,i=65536,j=4096"}) {
    SCOPED_TRACE(sizes);
    const Ranked found = best("O[u] +=! I[i,j] * X[j]", sizes, a100, Among::kAll);
    const tile::StageProgram& stage = found.program;
    EXPECT_GT(stage.sharers(), 1);
    for (std::size_t a = 0; a < stage.space->axes.size(); ++a)
      EXPECT_TRUE(stage.reduction_threads[a] == 1 || stage.space->axes[a].name == "j");
  }
}

TEST(SharedReductions, AreNoneWhereResultsFillTheChipAndRowsRunAcross) {
  const tests::ChipWithCostModel a100("a100");
  EXPECT_EQ(best("O[j] +=! I[i,j]", "i=64,j=1048576", a100, Among::kAll).program.sharers(), 1);
}

}  // namespace
}  // namespace tilescope::construct

// Who stands where after a jump over the ends of blocks.

#include "sim/gpu/turnover.h"

#include <gtest/gtest.h>

namespace tilescope::sim {
namespace {

constexpr std::int64_t kSteps = 100, kLast = 4;

StepProgress place(int core, std::int64_t remaining) {
  return {.resident = true, .core = core, .warps = 2, .least_remaining = remaining, .inside = true};
}

TurnoverSpec spec(std::int64_t not_started) {
  return {.steps = kSteps, .last_steps = kLast, .next_block = 50, .not_started = not_started};
}

std::int64_t least_remaining(const StepProgress& p, const StepJump& j) { return p.least_remaining - j.steps; }

TEST(Turnover, GoesOnWhereNobodyEnds) {
  const std::vector<StepProgress> blocks = {place(0, 90), place(1, 80)};
  const std::vector<PlaceRate> rates = {{0.5, 0.5}, {0.25, 0.5}};
  const Turnover t = turn_over(blocks, rates, 40, spec(10));
  EXPECT_EQ(t.blocks, 0);
  EXPECT_EQ(t.jumps[0].steps, 20);
  EXPECT_EQ(t.jumps[1].steps, 10);
  EXPECT_EQ(t.warp_steps, 2 * 30);
}

TEST(Turnover, PutsTheNextBlocksInTheOrderOfEnds) {
  const std::vector<StepProgress> blocks = {place(0, 40), place(0, 20), place(1, 60)};
  const std::vector<PlaceRate> rates(3, PlaceRate{1, 1});
  const Turnover t = turn_over(blocks, rates, 70, spec(10));
  EXPECT_EQ(t.blocks, 3);
  EXPECT_EQ(t.jumps[1].successor, 50);
  EXPECT_EQ(t.jumps[0].successor, 51);
  EXPECT_EQ(t.jumps[2].successor, 52);
  EXPECT_EQ(least_remaining(blocks[1], t.jumps[1]), kSteps - 1 - 50);
  EXPECT_EQ(t.warp_steps, 2 * ((40 + 31) + (20 + 51) + (60 + 11))) << "the rest of one, the begun steps of the other";
}

// All at one step, as in a first wave: a block for every core, not all for one.
TEST(Turnover, DealsOutLastBlocksOverCores) {
  const std::vector<StepProgress> blocks = {place(0, 10), place(0, 10), place(1, 10), place(1, 10)};
  const std::vector<PlaceRate> rates(4, PlaceRate{1, 1});
  const Turnover t = turn_over(blocks, rates, 30, spec(2));
  EXPECT_EQ(t.blocks, 2);
  EXPECT_EQ(t.cycles, 10) << "until nobody is left to start";
  EXPECT_EQ(t.jumps[0].successor, 50);
  EXPECT_EQ(t.jumps[2].successor, 51);
  EXPECT_EQ(t.jumps[1].successor, -1);
  EXPECT_EQ(least_remaining(blocks[1], t.jumps[1]), kLast);
}

TEST(Turnover, ReplacesABlockMoreThanOnce) {
  const std::vector<StepProgress> blocks = {place(0, 10)};
  const std::vector<PlaceRate> rates = {{2, 1}};  // the first one is fast
  const Turnover t = turn_over(blocks, rates, 5 + 100 + 30, spec(10));
  EXPECT_EQ(t.blocks, 2);
  EXPECT_EQ(t.jumps[0].successor, 51);
  EXPECT_EQ(t.jumps[0].stamp, 105);
  EXPECT_EQ(t.lasted, 5 + 100);
  EXPECT_EQ(least_remaining(blocks[0], t.jumps[0]), kSteps - 1 - 30);
}

TEST(Turnover, EndsWithTheFirstOfATail) {
  const std::vector<StepProgress> blocks = {place(0, 14), place(0, 24), place(1, 34), place(1, 44)};
  const std::vector<PlaceRate> rates(4, PlaceRate{1, 1});
  EXPECT_EQ(turn_over(blocks, rates, 1000, spec(0)).cycles, 10);
  TurnoverSpec some = spec(0);
  some.most_ends = 0.25;
  const Turnover t = turn_over(blocks, rates, 1000, some);
  EXPECT_EQ(t.cycles, 20);
  EXPECT_EQ(least_remaining(blocks[0], t.jumps[0]), kLast) << "its last steps are run";
  EXPECT_EQ(least_remaining(blocks[3], t.jumps[3]), 24);
}

TEST(Turnover, LeavesBlocksOutsideTheirSteps) {
  std::vector<StepProgress> blocks = {place(0, 50), place(0, 0), {}};
  blocks[1].inside = false;
  const std::vector<PlaceRate> rates(3, PlaceRate{1, 1});
  const Turnover t = turn_over(blocks, rates, 60, spec(10));
  EXPECT_EQ(t.blocks, 1);
  EXPECT_EQ(t.jumps[1].steps, 0);
  EXPECT_EQ(t.jumps[1].successor, -1);
  EXPECT_EQ(t.jumps[2].successor, -1);
}

}  // namespace
}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
// Who stands where after a jump over the ends of blocks.

#include <gtest/gtest.h>

#include "sim/gpu/detail/place_rates.h"

namespace tilescope::sim {
namespace {

constexpr std::int64_t kSteps = 100, kLast = 4;

StepProgress place(int core, std::int64_t remaining) {
  return {.resident = true, .core = core, .warps = 2, .min_remaining = remaining, .inside = true};
}

FastForwardSpec spec(std::int64_t not_started) {
  return {.steps = kSteps, .last_steps = kLast, .next_block = 50, .not_started = not_started};
}

std::int64_t min_remaining(const StepProgress& p, const StepJump& j) { return p.min_remaining - j.steps; }

TEST(FastForward, GoesOnWhereNobodyEnds) {
  const std::vector<StepProgress> blocks = {place(0, 90), place(1, 80)};
  const std::vector<PlaceRate> rates = {{0.5, 0.5}, {0.25, 0.5}};
  const FastForward t = fast_forward(blocks, rates, 40, spec(10));
  EXPECT_EQ(t.blocks, 0);
  EXPECT_EQ(t.jumps[0].steps, 20);
  EXPECT_EQ(t.jumps[1].steps, 10);
  EXPECT_EQ(t.warp_steps, 2 * 30);
}

TEST(FastForward, PutsTheNextBlocksInTheOrderOfEnds) {
  const std::vector<StepProgress> blocks = {place(0, 40), place(0, 20), place(1, 60)};
  const std::vector<PlaceRate> rates(3, PlaceRate{1, 1});
  const FastForward t = fast_forward(blocks, rates, 70, spec(10));
  EXPECT_EQ(t.blocks, 3);
  EXPECT_EQ(t.jumps[1].successor, 50);
  EXPECT_EQ(t.jumps[0].successor, 51);
  EXPECT_EQ(t.jumps[2].successor, 52);
  EXPECT_EQ(min_remaining(blocks[1], t.jumps[1]), kSteps - 1 - 50);
  EXPECT_EQ(t.warp_steps, 2 * ((40 + 31) + (20 + 51) + (60 + 11))) << "the rest of one, the begun steps of the other";
}

// All at one step, as in a first wave: a block for every core, not all for one.
TEST(FastForward, DealsOutLastBlocksOverCores) {
  const std::vector<StepProgress> blocks = {place(0, 10), place(0, 10), place(1, 10), place(1, 10)};
  const std::vector<PlaceRate> rates(4, PlaceRate{1, 1});
  const FastForward t = fast_forward(blocks, rates, 30, spec(2));
  EXPECT_EQ(t.blocks, 2);
  EXPECT_EQ(t.cycles, 10) << "until no block is left to start";
  EXPECT_EQ(t.jumps[0].successor, 50);
  EXPECT_EQ(t.jumps[2].successor, 51);
  EXPECT_EQ(t.jumps[1].successor, -1);
  EXPECT_EQ(min_remaining(blocks[1], t.jumps[1]), kLast);
}

TEST(FastForward, ReplacesABlockMoreThanOnce) {
  const std::vector<StepProgress> blocks = {place(0, 10)};
  const std::vector<PlaceRate> rates = {{2, 1}};  // the first one is fast
  const FastForward t = fast_forward(blocks, rates, 5 + 100 + 30, spec(10));
  EXPECT_EQ(t.blocks, 2);
  EXPECT_EQ(t.jumps[0].successor, 51);
  EXPECT_EQ(t.jumps[0].stamp, 105_cycles);
  EXPECT_EQ(t.lasted, 5_cycles + 100_cycles);
  EXPECT_EQ(min_remaining(blocks[0], t.jumps[0]), kSteps - 1 - 30);
}

// Every step that is left out is one of skipped steps, in the place and at the time of its block.
TEST(FastForward, SaysWhichStepsOfWhichBlocks) {
  const std::vector<StepProgress> blocks = {place(0, 10), place(1, 80)};
  const std::vector<PlaceRate> rates = {{2, 1}, {0.5, 0.5}};
  FastForwardSpec s = spec(10);
  s.between = 3;
  const FastForward t = fast_forward(blocks, rates, 5 + 3 + 100 + 3 + 30, s);
  ASSERT_EQ(t.skipped.size(), 4u);
  const auto expect = [&](const SkippedSteps& l, std::size_t where, std::int64_t block, std::int64_t steps, bool ends) {
    EXPECT_EQ(l.place, where);
    EXPECT_EQ(l.block, block);
    EXPECT_EQ(l.steps, steps);
    EXPECT_EQ(l.ends, ends);
  };
  expect(t.skipped[0], 0, -1, 10, true);
  expect(t.skipped[1], 0, 50, kSteps, true);
  expect(t.skipped[2], 0, 51, 31, false);
  expect(t.skipped[3], 1, -1, 71, false);
  EXPECT_EQ(t.skipped[1].from, 8);
  EXPECT_EQ(t.skipped[1].to, 108);
  EXPECT_EQ(t.skipped[2].to, t.cycles);
  EXPECT_EQ(t.warp_steps, 2 * (10 + kSteps + 31 + 71));
}

TEST(FastForward, EndsWithTheFirstOfATail) {
  const std::vector<StepProgress> blocks = {place(0, 14), place(0, 24), place(1, 34), place(1, 44)};
  const std::vector<PlaceRate> rates(4, PlaceRate{1, 1});
  EXPECT_EQ(fast_forward(blocks, rates, 1000, spec(0)).cycles, 10);
  FastForwardSpec some = spec(0);
  some.max_ends = 0.25;
  const FastForward t = fast_forward(blocks, rates, 1000, some);
  EXPECT_EQ(t.cycles, 20);
  EXPECT_EQ(min_remaining(blocks[0], t.jumps[0]), kLast) << "its last steps are run";
  EXPECT_EQ(min_remaining(blocks[3], t.jumps[3]), 24);
}

// One core, one partition of which holds two warps, blocks of a warp each. Whose step begins just within a sampling
// unit is chance.
TEST(PlaceRates, AreThoseOfPartitionsAsFull) {
  const auto checkpoint = [](Cycle at, std::vector<std::int64_t> begun) {
    Checkpoint m{at, {}, {}};
    for (std::size_t b = 0; b < begun.size(); ++b)
      m.blocks.push_back({.resident = true, .warps = 1, .crowd = b < 2 ? 2 : 1, .begun = begun[b]});
    return m;
  };
  const Checkpoint a = checkpoint(0_cycles, {0, 0, 0, 0}), b = checkpoint(100_cycles, {5, 4, 9, 8}),
                   c = checkpoint(200_cycles, {9, 9, 17, 17});
  const std::vector<PlaceRate> rates = place_rates({&a, &b}, {&b, &c});
  EXPECT_DOUBLE_EQ(rates[0].now, 0.045);
  EXPECT_DOUBLE_EQ(rates[3].now, 0.085);
  for (const PlaceRate& r : rates) EXPECT_DOUBLE_EQ(r.later, 0.065) << "a successor's partition is another";
}

// Blocks alike of which one is faster in both sampling units.
TEST(PlaceRates, KeepWhatLasts) {
  const auto checkpoint = [](Cycle at, std::int64_t first, std::int64_t second) {
    return Checkpoint{
        at, {}, {{.resident = true, .warps = 1, .begun = first}, {.resident = true, .warps = 1, .begun = second}}};
  };
  const Checkpoint a = checkpoint(0_cycles, 0, 0), b = checkpoint(100_cycles, 10, 8),
                   c = checkpoint(200_cycles, 20, 16);
  const std::vector<PlaceRate> both = place_rates({&a, &b}, {&b, &c}), one = place_rates({&b, &c});
  EXPECT_DOUBLE_EQ(both[0].now, 0.10);
  EXPECT_DOUBLE_EQ(both[1].now, 0.08);
  EXPECT_DOUBLE_EQ(both[1].later, 0.09);
  EXPECT_DOUBLE_EQ(one[1].now, 0.09);
}

TEST(FastForward, LeavesBlocksOutsideTheirSteps) {
  std::vector<StepProgress> blocks = {place(0, 50), place(0, 0), {}};
  blocks[1].inside = false;
  const std::vector<PlaceRate> rates(3, PlaceRate{1, 1});
  const FastForward t = fast_forward(blocks, rates, 60, spec(10));
  EXPECT_EQ(t.blocks, 1);
  EXPECT_EQ(t.jumps[1].steps, 0);
  EXPECT_EQ(t.jumps[1].successor, -1);
  EXPECT_EQ(t.jumps[2].successor, -1);
}

}  // namespace
}  // namespace tilescope::sim

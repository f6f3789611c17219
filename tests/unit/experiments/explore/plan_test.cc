// SPDX-License-Identifier: Apache-2.0
// Domination beside its definition, and plans: no design twice, the same again, the front of spaces that are known.

#include "experiments/explore/plan.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "experiments/explore/pareto.h"

namespace tilescope::experiments {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Merit random_merit() {
  if (*rc::gen::inRange(0, 8) == 0) return no_merit();
  if (*rc::gen::inRange(0, 3) == 0) return {{}, static_cast<double>(*rc::gen::inRange(1, 5))};
  Merit out;
  for (int o = 0; o < 3; ++o) out.objectives.push_back(*rc::gen::inRange(0, 6));
  return out;
}

std::vector<Merit> random_merits() {
  std::vector<Merit> out(*rc::gen::inRange<std::size_t>(0, 40));
  for (Merit& m : out) m = random_merit();
  return out;
}

TEST(Domination, GoesByFeasibilityThenViolationThenObjectives) {
  const Merit good{{1, 2}, 0}, other{{2, 1}, 0}, worse{{2, 2}, 0}, near{{}, 0.1}, far{{}, 0.2};
  EXPECT_TRUE(dominates(good, worse));
  EXPECT_FALSE(dominates(good, other));
  EXPECT_FALSE(dominates(good, good));
  EXPECT_TRUE(dominates(worse, near));
  EXPECT_FALSE(dominates(near, worse));
  EXPECT_TRUE(dominates(near, far));
  EXPECT_TRUE(dominates(far, no_merit()));
  EXPECT_FALSE(dominates(no_merit(), no_merit()));
}

RC_GTEST_PROP(Domination, TheFrontIsWhatNothingDominates, ()) {
  const std::vector<Merit> designs = random_merits();
  std::vector<std::size_t> expected;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    bool beaten = !designs[i].is_feasible();
    for (const Merit& other : designs) beaten = beaten || dominates(other, designs[i]);
    if (!beaten) expected.push_back(i);
  }
  RC_ASSERT(front_of(designs) == expected);
}

RC_GTEST_PROP(Domination, EveryRankIsDominatedByTheOneBefore, ()) {
  const std::vector<Merit> designs = random_merits();
  const auto ranks = ranks_of(designs);
  std::size_t all = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    all += ranks[r].size();
    for (const std::size_t i : ranks[r]) {
      for (const std::size_t j : ranks[r]) RC_ASSERT(!dominates(designs[j], designs[i]));
      bool beaten = r == 0;
      for (std::size_t j = 0; r > 0 && j < ranks[r - 1].size(); ++j)
        beaten = beaten || dominates(designs[ranks[r - 1][j]], designs[i]);
      RC_ASSERT(beaten);
    }
  }
  RC_ASSERT(all == designs.size());
}

TEST(Crowding, IsTheSideOfTheBoxOfTheNeighbours) {
  const std::vector<Merit> designs = {{{0, 4}, 0}, {{1, 2}, 0}, {{3, 1}, 0}, {{4, 0}, 0}};
  const std::vector<double> crowding = crowding_of(designs, {0, 1, 2, 3});
  EXPECT_TRUE(std::isinf(crowding[0]) && std::isinf(crowding[3]));
  EXPECT_DOUBLE_EQ(crowding[1], 3.0 / 4 + 3.0 / 4);
  EXPECT_DOUBLE_EQ(crowding[2], 3.0 / 4 + 2.0 / 4);
}

// Some of a grid of 9 x 7 x 3, whose last axis is a choice.
DesignSpace space() {
  DesignSpace out{{9, 7, 3}, {true, true, false}, {}};
  for (std::size_t a = 0; a < 9; ++a)
    for (std::size_t b = 0; b < 7; ++b)
      for (std::size_t c = 0; c < 3; ++c)
        if ((a + b + c) % 11 != 5) out.designs.push_back({a, b, c});
  return out;
}

Merit judge(const DesignIndex& d) {
  const auto x = static_cast<double>(d[0]), y = static_cast<double>(d[1]), choice = static_cast<double>(d[2]);
  if (x + y < 3) return {{}, 3 - x - y};
  if (d[0] == 8 && d[1] == 6) return no_merit();
  return {{std::abs(x - 6) + choice, y + 0.1 * x * (2 - choice)}, 0};
}

// The designs in the order of their judgement.
std::vector<std::size_t> follow(Plan& plan, const DesignSpace& space) {
  std::vector<std::size_t> out;
  std::vector<Merit> merits;
  for (auto chosen = plan.next(merits); !chosen.empty(); chosen = plan.next(merits)) {
    merits.clear();
    for (const std::size_t d : chosen) {
      merits.push_back(judge(space.designs.at(d)));
      out.push_back(d);
    }
  }
  return out;
}

std::vector<std::vector<double>> front_values(const DesignSpace& space, const std::vector<std::size_t>& designs) {
  std::vector<Merit> merits;
  for (const std::size_t d : designs) merits.push_back(judge(space.designs[d]));
  std::set<std::vector<double>> out;
  for (const std::size_t i : front_of(merits)) out.insert(merits[i].objectives);
  return {out.begin(), out.end()};
}

std::vector<std::size_t> all_of(const DesignSpace& space) {
  std::vector<std::size_t> out(space.designs.size());
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = d;
  return out;
}

RC_GTEST_PROP(Nsga2, JudgesAsManyAsItMayAndNoneTwice, ()) {
  const DesignSpace s = space();
  const auto evaluations = *rc::gen::inRange<std::size_t>(1, s.designs.size() + 1);
  const auto population = *rc::gen::inRange<std::size_t>(4, 60);
  const auto seed = *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto designs = follow(*nsga2(s, {evaluations, population, seed}), s);
  RC_ASSERT(designs.size() == evaluations);
  RC_ASSERT(std::set(designs.begin(), designs.end()).size() == evaluations);
  RC_ASSERT(designs == follow(*nsga2(s, {evaluations, population, seed}), s));
}

TEST(Nsga2, FindsTheFrontInHalfOfTheSpace) {
  const DesignSpace s = space();
  const auto front = front_values(s, all_of(s));
  for (std::int64_t seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(front_values(s, follow(*nsga2(s, {s.designs.size() / 2, 12, seed}), s)), front) << seed;
}

TEST(Nsga2, OtherSeedsJudgeOtherDesigns) {
  const DesignSpace s = space();
  EXPECT_NE(follow(*nsga2(s, {20, 10, 1}), s), follow(*nsga2(s, {20, 10, 2}), s));
}

TEST(Refine, BeginsWithEndsAndMiddlesAndEndsWithTheFront) {
  const DesignSpace s = space();
  const auto plan = refine(s);
  for (const std::size_t d : plan->next({})) {
    EXPECT_THAT((std::set<std::size_t>{0, 4, 8}), testing::Contains(s.designs[d][0]));
    EXPECT_THAT((std::set<std::size_t>{0, 3, 6}), testing::Contains(s.designs[d][1]));
  }
  const auto designs = follow(*refine(s), s);
  EXPECT_EQ(std::set(designs.begin(), designs.end()).size(), designs.size());
  EXPECT_LT(designs.size(), s.designs.size());
  EXPECT_EQ(front_values(s, designs), front_values(s, all_of(s)));
}

TEST(Refine, GoesToTheFeasibleDesignsFromTheLeastViolation) {
  DesignSpace s{{65}, {true}, {}};
  for (std::size_t a = 0; a < 65; ++a) s.designs.push_back({a});
  const auto merit = [](std::size_t a) {
    const double off = std::abs(static_cast<double>(a) - 41);
    return off > 0 ? Merit{{}, off} : Merit{{1}, 0};
  };
  const auto plan = refine(s);
  std::set<std::size_t> judged;
  std::vector<Merit> merits;
  for (auto chosen = plan->next(merits); !chosen.empty(); chosen = plan->next(merits)) {
    merits.clear();
    for (const std::size_t d : chosen) {
      merits.push_back(merit(d));
      judged.insert(d);
    }
  }
  EXPECT_TRUE(judged.contains(41));
  EXPECT_LT(judged.size(), 25);
}

TEST(Plans, OfOneDesignEnd) {
  const DesignSpace s{{1, 1}, {true, false}, {{0, 0}}};
  for (const auto& plan : {refine(s), nsga2(s, {1, 4, 1})}) {
    EXPECT_THAT(plan->next({}), ElementsAre(0));
    EXPECT_THAT(plan->next({no_merit()}), IsEmpty());
  }
}

}  // namespace
}  // namespace tilescope::experiments

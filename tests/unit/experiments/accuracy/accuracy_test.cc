// SPDX-License-Identifier: Apache-2.0
// Errors, ranks and what choosing by our times costs, against definitions written out.

#include "experiments/accuracy/accuracy.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "experiments/accuracy/compare.h"
#include "tests/support/random_program.h"

namespace tilescope::experiments {
namespace {

using tests::any_of_range;

std::vector<double> any_values(std::size_t n) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<double>(any_of_range(1, 9)));
  return out;
}

// A value's rank: those below it, and half of those equal to it.
std::vector<double> naive_ranks(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double v : values) {
    double rank = 0.5;
    for (const double w : values) rank += w < v ? 1 : w == v ? 0.5 : 0;
    out.push_back(rank);
  }
  return out;
}

double naive_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) ma += a[i] / n, mb += b[i] / n;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  return aa > 1e-9 && bb > 1e-9 ? ab / std::sqrt(aa * bb) : 0;
}

RC_GTEST_PROP(Ranks, SpearmanIsTheCorrelationOfRanks, ()) {
  const auto n = static_cast<std::size_t>(any_of_range(2, 30));
  const std::vector<double> a = any_values(n), b = any_values(n);
  RC_ASSERT(std::abs(spearman(a, b) - naive_correlation(naive_ranks(a), naive_ranks(b))) < 1e-12);
}

RC_GTEST_PROP(Ranks, AreOneForWhatGrowsTogetherAndNothingElse, ()) {
  const auto n = static_cast<std::size_t>(any_of_range(2, 30));
  const std::vector<double> a = any_values(n);
  std::vector<double> up, down;
  for (const double v : a) up.push_back(v * v + 1), down.push_back(1 / v);
  const bool all_tied = spearman(a, a) == 0;
  RC_ASSERT(std::abs(kendall(a, up) - (all_tied ? 0 : 1)) < 1e-12);
  RC_ASSERT(std::abs(spearman(a, down) + (all_tied ? 0 : 1)) < 1e-12);
}

// Agresti's definition on four pairs: five agree, none disagrees, one is tied in b.
TEST(Ranks, KendallCountsTiesOnce) {
  const std::vector<double> a = {1, 2, 3, 4}, b = {1, 2, 2, 3};
  EXPECT_DOUBLE_EQ(kendall(a, b), 5 / std::sqrt(6.0 * 5));
}

PredictedTime timed(const char* group, const char* tile, std::optional<double> ours, double measured) {
  return {group, tile, ours, measured};
}

TEST(Accuracy, OfTilesIsThatOfTheirBestRows) {
  const std::vector<PredictedTime> times = {timed("g", "a", 1, 10), timed("g", "a", 9, 4), timed("g", "b", 2, 5),
                                            timed("g", "c", 3, 6)};
  const Accuracy f = accuracy_of(times, 2);
  EXPECT_DOUBLE_EQ(f.by_tile.spearman, 1);    // tiles: ours 1 2 3, measured 4 5 6
  EXPECT_DOUBLE_EQ(f.by_tile.best_of_1, 1);   // the first tile's best row is the best
  EXPECT_DOUBLE_EQ(f.by_row.best_of_1, 0.4);  // the first row takes 10, the best 4
  EXPECT_DOUBLE_EQ(f.by_row.best_of_5, 1);
  EXPECT_EQ(f.errors.compared, 4U);
}

TEST(Accuracy, WhatIsRefusedRanksLastAndCountsInNoError) {
  const std::vector<PredictedTime> times = {timed("g", "a", std::nullopt, 1), timed("g", "b", 2, 2),
                                            timed("g", "c", 3, 3)};
  const Accuracy f = accuracy_of(times, 2);
  EXPECT_EQ(f.rows, 3U);
  EXPECT_EQ(f.errors.compared, 2U);
  EXPECT_DOUBLE_EQ(f.errors.mape_ratio, 0);
  EXPECT_DOUBLE_EQ(f.by_tile.spearman, -0.5);  // 3 1 2 against 1 2 3
  EXPECT_DOUBLE_EQ(f.by_tile.best_of_1, 0.5);
}

TEST(Accuracy, RankingAllAlikeIsWorthNothing) {
  const std::vector<PredictedTime> times = {timed("g", "a", 7, 1), timed("g", "b", 7, 4), timed("g", "c", 7, 2)};
  const Accuracy f = accuracy_of(times, 2);
  EXPECT_DOUBLE_EQ(f.by_tile.spearman, 0);
  EXPECT_DOUBLE_EQ(f.by_tile.best_of_1, 0.25);
}

TEST(Accuracy, RanksOnlyGroupsOfEnoughTilesEachAsHeavyAsTheOthers) {
  std::vector<PredictedTime> times = {timed("few", "a", 1, 2), timed("few", "b", 2, 1)};
  for (int i = 1; i <= 5; ++i) times.push_back(timed("many", std::to_string(i).c_str(), i, i));
  EXPECT_EQ(accuracy_of(times, 5).by_tile.groups, 1U);
  EXPECT_DOUBLE_EQ(accuracy_of(times, 5).by_tile.spearman, 1);
  EXPECT_DOUBLE_EQ(accuracy_of(times, 2).by_tile.spearman, 0);  // of -1 and 1
  EXPECT_DOUBLE_EQ(accuracy_of(times, 2).by_tile.best_of_1, std::sqrt(0.5));
}

TEST(Accuracy, NineOfTenErrorsAreNoGreaterThanTheirBound) {
  std::vector<PredictedTime> times;
  for (int i = 1; i <= 20; ++i) times.push_back(timed("g", "a", 100 + i, 100));
  EXPECT_NEAR(accuracy_of(times, 2).errors.p90_error_ratio, 0.18, 1e-12);
}

TEST(Accuracy, OfRowsThatNobodyMeasuredIsThatOfTheModelAgainstTheSimulator) {
  Comparison c;
  for (const double us : {10.0, 20.0}) {
    ComparedRow row;
    row.kind = row.group = "g";
    row.tile = std::to_string(us);
    row.prediction.emplace().predicted_us = us;
    row.simulation.emplace().simulated_us = 1.25 * us;
    c.rows.push_back(row);
  }
  const std::vector<AccuracyOfKind> all = accuracy_by_kind(c);
  ASSERT_EQ(all.size(), 2U);  // g, and all
  EXPECT_FALSE(all.back().predicted || all.back().simulated);
  EXPECT_DOUBLE_EQ(all.back().model->errors.mape_ratio, 0.2);
  EXPECT_DOUBLE_EQ(all.back().model->by_tile.spearman, 1);
}

}  // namespace
}  // namespace tilescope::experiments

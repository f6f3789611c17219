// SPDX-License-Identifier: Apache-2.0
// The searches' statistics against closed forms, and a trial that is ended and goes on.

#include "experiments/search/quality.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/simulate/kept_times.h"
#include "construct/search.h"
#include "tests/support/build.h"

namespace tilescope::experiments {
namespace {

using api::KeptTimes;
using testing::ElementsAre;

constexpr double kNone = std::numeric_limits<double>::infinity();

SearchedOperator searched(const std::string& id, const std::vector<double>& roller, const std::vector<double>& osdi22,
                          const std::vector<double>& random, std::optional<double> oracle) {
  SearchedOperator out;
  out.id = id;
  out.tried = {{api::Search::kRoller, roller},
               {api::Search::kRollerOsdi22, osdi22},
               {api::Search::kRandom, random},
               {api::Search::kGenetic, random},
               {api::Search::kAnneal, random}};
  out.exhaustive_us = oracle;
  return out;
}

const Quality& of(const std::vector<Quality>& all, api::Search search, std::size_t n) {
  return *std::find_if(all.begin(), all.end(), [&](const Quality& q) { return q.search == search && q.n == n; });
}

TEST(TriedTimes, BestOfTheFirst) {
  const TriedTimes t{api::Search::kRandom, {5, kNone, 3, 4}};
  EXPECT_EQ(t.best_us(0), kNone);
  EXPECT_EQ(t.best_us(2), 5);
  EXPECT_EQ(t.best_us(3), 3);
  EXPECT_EQ(t.best_us(99), 3);
}

TEST(QualityOf, IsTheMeanOverOperators) {
  const SearchQuality q =
      quality_of({searched("a", {12, 10}, {18, 20}, {40, 20, 10}, 10), searched("b", {4, 3}, {}, {9, 2}, std::nullopt),
                  searched("c", {5.1}, {10}, {kNone, 5}, 5)},
                 3);
  const Quality& first = of(q.by_exhaustive, api::Search::kRoller, 1);
  EXPECT_EQ(first.operators, 2U) << "b has no oracle";
  EXPECT_DOUBLE_EQ(first.mean_ratio, std::sqrt(1.2 * 1.02));
  EXPECT_DOUBLE_EQ(first.within_3, 0.5);
  EXPECT_DOUBLE_EQ(first.within_15, 0.5);
  EXPECT_DOUBLE_EQ(first.worst_ratio, 1.2);
  EXPECT_EQ(first.worst, "a");
  EXPECT_DOUBLE_EQ(of(q.by_exhaustive, api::Search::kRoller, 10).mean_ratio, std::sqrt(1 * 1.02));
  EXPECT_DOUBLE_EQ(of(q.by_best_known, api::Search::kRoller, 1).mean_ratio, std::cbrt(1.2 * 2 * 1.02));
  EXPECT_DOUBLE_EQ(of(q.by_best_known, api::Search::kRandom, 3).mean_ratio, 1);
  EXPECT_EQ(of(q.by_best_known, api::Search::kRollerOsdi22, 1).operators, 2U) << "it finds nothing for b";
  EXPECT_DOUBLE_EQ(q.over_osdi22_ratio, std::sqrt(18 / 12.0 * 10 / 5.1));
  EXPECT_EQ(q.over_osdi22_operators, 2U);
}

TEST(QualityOf, LeavesOutWhatHasNoTime) {
  const SearchQuality q = quality_of(
      {searched("a", {12}, {18}, {12}, 10), searched("b", {kNone}, {10}, {5}, 5), searched("c", {4}, {8}, {4}, kNone)},
      1);
  EXPECT_EQ(q.over_osdi22_operators, 2U) << "ours has none for b";
  EXPECT_DOUBLE_EQ(q.over_osdi22_ratio, std::sqrt(1.5 * 2));
  EXPECT_EQ(of(q.by_exhaustive, api::Search::kRoller, 1).operators, 1U) << "c's oracle has none";
  EXPECT_DOUBLE_EQ(of(q.by_exhaustive, api::Search::kRoller, 1).mean_ratio, 1.2);
}

TEST(QualityOf, DrawsNoMeanOfSomeOperators) {
  const std::vector<SearchedOperator> operators = {searched("a", {1}, {}, {kNone, 2}, {}),
                                                   searched("b", {1}, {}, {4, 4}, {})};
  EXPECT_EQ(mean_ratio_after(operators, api::Search::kRandom, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(mean_ratio_after(operators, api::Search::kRandom, 2).value(), std::sqrt(2 * 4));
  EXPECT_EQ(mean_ratio_after({}, api::Search::kRandom, 2), std::nullopt);
}

class Kept : public testing::Test {
 protected:
  Kept() : file_(testing::TempDir() + "kept_times.jsonl") { std::filesystem::remove(file_); }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) out.push_back(line);
    return out;
  }
  std::string file_;
};

TEST_F(Kept, TimesAreThereTheNextTime) {
  {
    KeptTimes times(file_);
    times.add("a", 1.5);
    times.add("b", kNone);
  }
  std::ofstream(file_, std::ios::app) << R"({"key":"c","us":2)";  // cut off
  KeptTimes times(file_);
  times.add("d", 4);
  const KeptTimes again(file_);
  EXPECT_EQ(*again.find("a"), 1.5);
  EXPECT_EQ(*again.find("b"), kNone);
  EXPECT_EQ(again.find("c"), nullptr);
  EXPECT_EQ(*again.find("d"), 4);
  EXPECT_THROW(KeptTimes("/no/such/folder/file"), std::runtime_error);
}

TEST_F(Kept, ATrialGoesOnWhereItEnded) {
  if (!construct::why_no_annealing().empty()) GTEST_SKIP() << construct::why_no_annealing();
  api::Workload w;
  w.op = "O[i] +=! I[i,j]";
  w.sizes = "i=64,j=64";
  const auto trial = [&](int jobs) {
    base::Diagnostics diags;
    SearchQualityOptions options;
    options.budget = 6;
    options.exhaustive_limit = 0;
    options.log = file_;
    const auto q = search_quality(w, tests::chip("v100"), options, jobs, [](std::size_t, std::size_t) {}, diags);
    tests::require_no_errors(diags);
    return base::to_json(to_document(q.value()));
  };
  const std::string one = trial(1);
  const std::vector<std::string> known = lines();
  EXPECT_GT(known.size(), 10U);
  EXPECT_EQ(trial(2), one);
  EXPECT_EQ(lines(), known) << "nothing is simulated twice";

  std::ofstream(file_, std::ios::trunc) << known.at(0) << '\n' << known.at(1) << '\n';
  EXPECT_EQ(trial(2), one);
  EXPECT_EQ(lines().size(), known.size()) << "only what was lost is simulated again";
}

}  // namespace
}  // namespace tilescope::experiments

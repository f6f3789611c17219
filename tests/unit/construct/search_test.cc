// SPDX-License-Identifier: Apache-2.0
// The searches with a made-up cost model, whose best program is known because every program can be looked at.

#include "construct/search.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "construct/aligned_programs.h"
#include "construct/search_space.h"
#include "tests/unit/construct/construct_on.h"
#include "tests/unit/construct/every_point.h"
#include "tile/fit.h"
#include "tile/program_json.h"

namespace tilescope::construct {
namespace {

using Run = Trace (*)(const SearchSpace&, const BatchCostModel&, const SearchBudget&);

struct Named {
  const char* name;
  Run run;
  std::size_t enough = 0;  // programs to find the best with
};

// A reduction whose space has some ten thousand programs, and a cost model that likes one of them best.
class Searches : public testing::TestWithParam<Named> {
 protected:
  Searches() : chip_("v100"), space_(tests::expression("O[i] max=! I[i,j]", "i=64,j=16"), chip_.spec) {
    tests::for_every_point(space_, [&](const Point& p) {
      if (const auto program = space_.program_at(p)) {
        times_[text_of(*program)] = time_of(*program);
        least_ = std::min(least_, time_of(*program));
      }
    });
  }

  void SetUp() override {
    if (GetParam().run == anneal_search && !why_no_annealing().empty()) GTEST_SKIP() << why_no_annealing();
  }

  std::string text_of(const tile::StageProgram& p) const {
    return base::to_json(tile::to_document(tile::program_of("v100", p), chip_.spec));
  }

  // Far from 64 threads, 2 results each, steps of 8, cached with the padding of a bank: slower, and slower together.
  static double time_of(const tile::StageProgram& p) {
    const auto far = [](std::int64_t n, double from) { return std::abs(std::log2(static_cast<double>(n) / from)); };
    const double off = far(p.threads(), 64) + far(p.thread[0], 2) + far(p.block[1], 8) + far(p.split[1], 2) +
                       std::abs(static_cast<double>(p.operands[0].padding) - 1) + static_cast<double>(p.num_stages - 1);
    return 10 * (1 + off);
  }

  Trace run(std::size_t budget, std::uint64_t seed) const {
    const CostModel cost_model = [](const tile::RProgram& p) { return base::Microseconds{time_of(p.simt().front())}; };
    return GetParam().run(space_, one_by_one(cost_model), {budget, seed});
  }

  std::vector<std::string> texts(const Trace& trace) const {
    std::vector<std::string> out;
    for (const Ranked& r : trace) out.push_back(text_of(r.program));
    return out;
  }

  static double best_of(const Trace& trace) {
    double best = std::numeric_limits<double>::infinity();
    for (const Ranked& r : trace) best = std::min(best, r.time.v);
    return best;
  }

  tests::ChipWithCostModel chip_;
  SearchSpace space_;
  std::map<std::string, double> times_;  // of every program
  double least_ = std::numeric_limits<double>::infinity();
};

TEST_P(Searches, TryTheBudgetOfDifferentProgramsThatFit) {
  for (const std::size_t budget : {1U, 7U, 130U}) {
    const Trace trace = run(budget, 3);
    EXPECT_EQ(trace.size(), budget);
    std::set<std::string> seen;
    for (const Ranked& r : trace) {
      EXPECT_TRUE(tile::fits(r.program, chip_.spec));
      EXPECT_EQ(times_.at(text_of(r.program)), r.time.v) << "a program of the space, with its own time";
      EXPECT_TRUE(seen.insert(text_of(r.program)).second) << "tried twice";
    }
  }
}

TEST_P(Searches, DependOnTheSeedAlone) {
  const std::vector<std::string> one = texts(run(130, 1));
  EXPECT_EQ(texts(run(130, 1)), one);
  EXPECT_NE(texts(run(130, 2)), one);
}

TEST_P(Searches, BeginAlikeWhateverTheBudget) {
  const std::vector<std::string> few = texts(run(64, 5));
  std::vector<std::string> many = texts(run(130, 5));
  many.resize(few.size());
  EXPECT_EQ(many, few);
}

TEST_P(Searches, TakeWhatTheCostModelCannotTell) {
  const BatchCostModel cost_model = [](std::span<const tile::RProgram> programs) {
    return std::vector<base::Microseconds>(programs.size(), {std::numeric_limits<double>::infinity()});
  };
  EXPECT_EQ(GetParam().run(space_, cost_model, {130, 1}).size(), 130U);
}

TEST_P(Searches, EndWhereTheSpaceHasNoMore) {
  const SearchSpace small(tests::expression("O[i] = relu(I[i])", "i=64"), chip_.spec);
  std::size_t programs = 0;
  tests::for_every_point(small, [&](const Point& p) { programs += small.program_at(p) ? 1 : 0; });
  const BatchCostModel cost_model = one_by_one([](const tile::RProgram&) { return base::Microseconds{1}; });
  EXPECT_LE(GetParam().run(small, cost_model, {100000, 1}).size(), programs);
}

TEST_P(Searches, FindNothingWhereNothingFits) {
  const arch::ArchSpec tiny = tests::chip("v100", {{"memory.dram.capacity", "16 KiB"}});
  const SearchSpace none(tests::expression("C[m,n] +=! A[m,k] * B[k,n]", "m=64,n=64,k=32"), tiny);
  const BatchCostModel cost_model = one_by_one([](const tile::RProgram&) { return base::Microseconds{1}; });
  EXPECT_TRUE(GetParam().run(none, cost_model, {100, 1}).empty());
}

INSTANTIATE_TEST_SUITE_P(All, Searches,
                         testing::Values(Named{"random", random_search}, Named{"genetic", genetic_search},
                                         Named{"anneal", anneal_search}),
                         [](const auto& named) { return named.param.name; });

using LearningSearches = Searches;

// With a small part of the space, from every one of three seeds.
TEST_P(LearningSearches, FindTheBest) {
  ASSERT_GT(times_.size(), 7 * GetParam().enough);
  for (const std::uint64_t seed : {1U, 2U, 3U})
    EXPECT_EQ(best_of(run(GetParam().enough, seed)), least_) << "seed " << seed << ", " << times_.size() << " programs";
}

INSTANTIATE_TEST_SUITE_P(All, LearningSearches,
                         testing::Values(Named{"genetic", genetic_search, 1200}, Named{"anneal", anneal_search, 400}),
                         [](const auto& named) { return named.param.name; });

// First draws of many seeds: each program of a small space about as often as the others. The largest of `bins`
// chi-squared deviations stays within five standard deviations of its mean.
TEST(RandomSearch, IsUniform) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] = relu(I[i])", "i=64"), chip.spec);
  std::size_t programs = 0;
  tests::for_every_point(space, [&](const Point& p) { programs += space.program_at(p) ? 1 : 0; });
  const std::uint64_t first = std::random_device{}();
  const BatchCostModel cost_model = one_by_one([](const tile::RProgram&) { return base::Microseconds{1}; });
  std::map<std::string, double> drawn;
  const double draws = 20 * static_cast<double>(programs);
  for (std::uint64_t d = 0; d < static_cast<std::uint64_t>(draws); ++d) {
    const Trace trace = random_search(space, cost_model, {1, first + d});
    ++drawn[base::to_json(tile::to_document(tile::program_of("v100", trace.at(0).program), chip.spec))];
  }
  double chi = 20 * static_cast<double>(programs - drawn.size());  // of those that never came
  for (const auto& [program, n] : drawn) chi += (n - 20) * (n - 20) / 20;
  const double freedom = static_cast<double>(programs - 1);
  EXPECT_NEAR(chi, freedom, 5 * std::sqrt(2 * freedom)) << "from seed " << first << ", " << programs << " programs";
}

TEST(RandomSearch, ComesByEveryProgram) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] = relu(I[i])", "i=64"), chip.spec);
  std::size_t programs = 0;
  tests::for_every_point(space, [&](const Point& p) { programs += space.program_at(p) ? 1 : 0; });
  const BatchCostModel cost_model = one_by_one([](const tile::RProgram&) { return base::Microseconds{1}; });
  EXPECT_EQ(random_search(space, cost_model, {100000, 1}).size(), programs);
}

TEST(ExhaustiveSearch, TriesWhatItIsGivenInOrder) {
  const tests::ChipWithCostModel chip("v100");
  const SearchSpace space(tests::expression("O[i] +=! I[i,j]", "i=64,j=64"), chip.spec);
  const AlignedPrograms aligned = aligned_programs(space, 500);
  ASSERT_FALSE(aligned.programs.empty());
  const Trace trace = exhaustive_search(aligned.programs, chip.spec, one_by_one(chip.cost_model()));
  ASSERT_EQ(trace.size(), aligned.count);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    EXPECT_EQ(trace[i].program.block, aligned.programs[i].block);
    EXPECT_EQ(trace[i].time.v, chip.time_of(aligned.programs[i]));
  }
}

}  // namespace
}  // namespace tilescope::construct

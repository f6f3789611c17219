// SPDX-License-Identifier: Apache-2.0
// Learned costs rank what they have not seen.

#include "construct/detail/ranking_trees.h"

#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "construct/search.h"

namespace tilescope::construct {
namespace {

struct Examples {
  std::vector<Features> features;
  std::vector<float> scores;
};

// Two features that matter, one of them in steps, and one that does not.
Examples examples(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> any(0, 8);
  Examples out;
  for (int i = 0; i < count; ++i) {
    out.features.push_back({any(random), any(random), any(random)});
    const Features& f = out.features.back();
    out.scores.push_back(1 / (1 + (f[0] - 3) * (f[0] - 3) + (f[1] > 4 ? 5.0F : 0.0F)));
  }
  return out;
}

class RankingTreesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_annealing().empty()) GTEST_SKIP() << why_no_annealing();
  }
};

TEST_F(RankingTreesTest, OrderWhatTheyHaveNotSeen) {
  const Examples known = examples(1, 200), asked = examples(2, 200);
  RankingTrees trees;
  trees.fit(known.features, known.scores);
  const std::vector<float> scores = trees.predict(asked.features);
  ASSERT_EQ(scores.size(), asked.scores.size());
  int right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      ++pairs;
      right += (scores[i] < scores[j]) == (asked.scores[i] < asked.scores[j]) ? 1 : 0;
    }
  EXPECT_GT(right, 0.9 * pairs);
}

TEST_F(RankingTreesTest, LearnTheSameFromTheSame) {
  const Examples known = examples(1, 100), asked = examples(2, 50);
  RankingTrees one, other;
  one.fit(known.features, known.scores);
  other.fit(known.features, known.scores);
  EXPECT_EQ(one.predict(asked.features), other.predict(asked.features));
}

TEST_F(RankingTreesTest, TakeScoresThatAreAllAlike) {
  Examples known = examples(1, 70);
  known.scores.assign(known.scores.size(), 0);
  RankingTrees trees;
  trees.fit(known.features, known.scores);
  EXPECT_EQ(trees.predict(known.features).size(), 70U);
  EXPECT_TRUE(trees.predict({}).empty());
}

TEST_F(RankingTreesTest, PredictNothingBeforeTheyLearn) {
  EXPECT_THROW(RankingTrees().predict(examples(1, 1).features), base::InternalError);
}

TEST(NoRankingTrees, NameThePackage) {
  if (why_no_annealing().empty()) GTEST_SKIP() << "this build has trees";
  EXPECT_THAT([] { RankingTrees(); }, testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("libxgboost-dev")));
}

}  // namespace
}  // namespace tilescope::construct

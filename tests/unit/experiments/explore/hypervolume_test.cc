// SPDX-License-Identifier: Apache-2.0
// The hypervolume beside inclusion and exclusion over all subsets, and beside a Monte Carlo estimate.

#include "experiments/explore/hypervolume.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::experiments {
namespace {

using Points = std::vector<std::vector<double>>;

// The sum over subsets of the box that all of them dominate, with the sign of their number.
double by_subsets(const Points& points, const std::vector<double>& reference) {
  double out = 0;
  for (std::size_t subset = 1; subset < (std::size_t{1} << points.size()); ++subset) {
    std::vector<double> corner(reference.size(), -1e300);
    int members = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      ++members;
      for (std::size_t o = 0; o < corner.size(); ++o) corner[o] = std::max(corner[o], points[i][o]);
    }
    double box = members % 2 == 1 ? 1 : -1;
    for (std::size_t o = 0; o < corner.size(); ++o) box *= std::max(0.0, reference[o] - corner[o]);
    out += box;
  }
  return out;
}

RC_GTEST_PROP(Hypervolume, IsWhatInclusionAndExclusionGive, ()) {
  const auto objectives = *rc::gen::inRange<std::size_t>(1, 6);
  const auto number = *rc::gen::inRange<std::size_t>(0, 10);
  Points points(number);
  for (auto& p : points)
    for (std::size_t o = 0; o < objectives; ++o) p.push_back(*rc::gen::inRange(0, 12));  // ties, and some beyond it
  const std::vector<double> reference(objectives, 10);
  RC_ASSERT(std::abs(hypervolume(points, reference) - by_subsets(points, reference)) < 1e-6);
}

TEST(Hypervolume, OfManyPointsIsNearAMonteCarloEstimate) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  for (const std::size_t objectives : {2, 3, 4}) {
    Points points(60);
    for (auto& p : points)
      for (std::size_t o = 0; o < objectives; ++o) p.push_back(share(random));
    int inside = 0;
    constexpr int kSamples = 100'000;
    for (int s = 0; s < kSamples; ++s) {
      std::vector<double> at;
      for (std::size_t o = 0; o < objectives; ++o) at.push_back(share(random));
      inside += std::any_of(points.begin(), points.end(), [&](const auto& p) {
        return std::equal(p.begin(), p.end(), at.begin(), [](double a, double b) { return a <= b; });
      });
    }
    const std::vector<double> reference(objectives, 1);
    EXPECT_NEAR(hypervolume(points, reference), inside / static_cast<double>(kSamples), 0.008) << objectives;
  }
}

TEST(Hypervolume, OfNothingBetterThanTheReferenceIsNone) {
  EXPECT_EQ(hypervolume({}, {1, 1}), 0);
  EXPECT_EQ(hypervolume({{1, 0}, {0, 1}, {2, 2}}, {1, 1}), 0);
  EXPECT_EQ(hypervolume({{0, 0, 0}}, {2, 3, 4}), 24);
}

}  // namespace
}  // namespace tilescope::experiments

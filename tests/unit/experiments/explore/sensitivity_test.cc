// SPDX-License-Identifier: Apache-2.0
// Sobol's indices beside those that are known in closed form.

#include "experiments/explore/sensitivity.h"

#include <cmath>
#include <functional>
#include <numbers>

#include <gtest/gtest.h>

namespace tilescope::experiments {
namespace {

using Function = std::function<double(const std::vector<double>&)>;

SaltelliValues values_of(const Function& f, std::size_t axes, std::size_t rows, std::int64_t seed) {
  const SaltelliDesign design = saltelli_design(rows, axes, seed);
  const auto at = [&](const std::vector<std::vector<double>>& inputs) {
    std::vector<double> out;
    for (const auto& x : inputs) out.push_back(f(x));
    return out;
  };
  SaltelliValues values{at(design.a), at(design.b), {}};
  for (std::size_t axis = 0; axis < axes; ++axis) values.ab.push_back(at(design.mixed(axis)));
  return values;
}

std::vector<SobolIndex> indices(const Function& f, std::size_t axes, std::size_t rows, std::int64_t seed) {
  return sobol_indices(values_of(f, axes, rows, seed), seed);
}

constexpr std::size_t kRows = 16384;
constexpr double kWithin = 0.02;
constexpr double kPi = std::numbers::pi;

double ishigami(const std::vector<double>& u) {
  const auto x = [&](std::size_t i) { return kPi * (2 * u[i] - 1); };
  return std::sin(x(0)) + 7 * std::pow(std::sin(x(1)), 2) + 0.1 * std::pow(x(2), 4) * std::sin(x(0));
}

TEST(Sobol, IndicesOfIshigami) {
  const double first = 0.5 * std::pow(1 + 0.1 * std::pow(kPi, 4) / 5, 2), second = 49.0 / 8,
               both = 0.01 * std::pow(kPi, 8) * (1.0 / 18 - 1.0 / 50), all = first + second + both;
  const double expected[3][2] = {{first / all, (first + both) / all}, {second / all, second / all}, {0, both / all}};
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const auto found = indices(ishigami, 3, kRows, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(found[i].first, expected[i][0], kWithin) << i << " seed " << seed;
      EXPECT_NEAR(found[i].total, expected[i][1], kWithin) << i << " seed " << seed;
      EXPECT_LE(found[i].first_interval.low, found[i].first);
      EXPECT_GE(found[i].first_interval.high, found[i].first);
      EXPECT_LT(found[i].total_interval.high - found[i].total_interval.low, 0.06);
    }
  }
}

TEST(Sobol, IndicesOfTheGFunction) {
  const std::vector<double> a = {0, 1, 4.5, 9, 99, 99, 99, 99};
  const Function g = [&](const std::vector<double>& u) {
    double out = 1;
    for (std::size_t i = 0; i < a.size(); ++i) out *= (std::abs(4 * u[i] - 2) + a[i]) / (1 + a[i]);
    return out;
  };
  double all = 1;
  const auto variance = [&](std::size_t i) { return 1.0 / 3 / std::pow(1 + a[i], 2); };
  for (std::size_t i = 0; i < a.size(); ++i) all *= 1 + variance(i);
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const auto found = indices(g, a.size(), kRows, seed);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(found[i].first, variance(i) / (all - 1), kWithin) << i << " seed " << seed;
      EXPECT_NEAR(found[i].total, variance(i) * all / (1 + variance(i)) / (all - 1), kWithin) << i << " seed " << seed;
    }
  }
}

// Of Ishigami's function the first and the third axis interact, and no other pair.
TEST(Sobol, PairsOfIshigami) {
  const double first = 0.5 * std::pow(1 + 0.1 * std::pow(kPi, 4) / 5, 2), second = 49.0 / 8,
               both = 0.01 * std::pow(kPi, 8) * (1.0 / 18 - 1.0 / 50), all = first + second + both;
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const auto found = pair_interactions(values_of(ishigami, 3, kRows, seed), seed);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].first, 0U);
    EXPECT_EQ(found[0].second, 2U);
    EXPECT_NEAR(found[0].index, both / all, kWithin) << "seed " << seed;
    EXPECT_GT(found[0].interval.low, 0.1);
    for (std::size_t p = 1; p < 3; ++p) {
      EXPECT_NEAR(found[p].index, 0, kWithin) << "seed " << seed;
      EXPECT_LE(found[p].interval.low, kWithin);
    }
  }
}

// Of a product of independent factors the part of a pair is known: V_i V_j times what the others add.
TEST(Sobol, PairsOfTheGFunction) {
  const std::vector<double> a = {0, 1, 4.5};
  const Function g = [&](const std::vector<double>& u) {
    double out = 1;
    for (std::size_t i = 0; i < a.size(); ++i) out *= (std::abs(4 * u[i] - 2) + a[i]) / (1 + a[i]);
    return out;
  };
  const auto variance = [&](std::size_t i) { return 1.0 / 3 / std::pow(1 + a[i], 2); };
  double all = 1;
  for (std::size_t i = 0; i < a.size(); ++i) all *= 1 + variance(i);
  for (std::int64_t seed = 1; seed <= 3; ++seed)
    for (const PairInteraction& p : pair_interactions(values_of(g, a.size(), kRows, seed), seed)) {
      const std::size_t other = 3 - p.first - p.second;
      EXPECT_NEAR(p.index, variance(p.first) * variance(p.second) * (1 + variance(other)) / (all - 1), kWithin)
          << p.first << p.second << " seed " << seed;
    }
}

// The first axis matters below a quarter of the second one alone; of a choice, at one of its values.
TEST(Sobol, AnEffectThatLiesOnOneSideIsFound) {
  constexpr std::size_t kValues = 8, kSample = 2048;
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const SaltelliDesign design = saltelli_design(kSample, 2, seed);
    std::vector<std::size_t> at;
    for (const auto& u : design.a) at.push_back(static_cast<std::size_t>(u[1] * kValues));
    const auto split = [&](const Function& f, bool ordered) {
      return split_of_effect(values_of(f, 2, kSample, seed), 0, at, ordered);
    };
    const auto low = split([](const auto& u) { return u[1] < 0.25 ? 10 * u[0] : 3.0; }, true);
    ASSERT_TRUE(low);
    EXPECT_EQ(low->side, EffectSplit::Side::kUpTo);
    EXPECT_EQ(low->value, 1U);
    EXPECT_NEAR(low->rows, 0.25, 0.02);
    EXPECT_DOUBLE_EQ(low->effect, 1);
    const auto high = split([](const auto& u) { return u[1] < 0.25 ? u[0] : 4 * u[0]; }, true);
    EXPECT_EQ(high->side, EffectSplit::Side::kFrom);
    EXPECT_EQ(high->value, 2U);
    EXPECT_NEAR(high->effect, 0.75 * 16 / (0.75 * 16 + 0.25), 0.02);
    const auto only = split([](const auto& u) { return std::floor(u[1] * kValues) == 5 ? u[0] : 0.0; }, false);
    EXPECT_EQ(only->side, EffectSplit::Side::kOnly);
    EXPECT_EQ(only->value, 5U);
    EXPECT_DOUBLE_EQ(only->effect, 1);
    const auto except = split([](const auto& u) { return std::floor(u[1] * kValues) == 7 ? 0.0 : u[0]; }, false);
    EXPECT_EQ(except->side, EffectSplit::Side::kExcept);
    EXPECT_EQ(except->value, 7U);
    EXPECT_FALSE(split([](const auto& u) { return u[1]; }, true)) << "no effect of the first axis";
  }
}

TEST(Sobol, NothingVariesWithoutVariance) {
  for (const SobolIndex& i : indices([](const auto&) { return 3.0; }, 2, 64, 1)) {
    EXPECT_EQ(i.first, 0);
    EXPECT_EQ(i.total, 0);
  }
}

TEST(Sobol, RoundingIsNoVariance) {
  const auto rounded = [](const auto& x) { return 3.0 * (1 + (x[0] > 0.5 ? 2e-16 : 0)); };
  for (const SobolIndex& i : indices(rounded, 2, 64, 1)) {
    EXPECT_EQ(i.first, 0);
    EXPECT_EQ(i.total, 0);
  }
  for (const PairInteraction& p : pair_interactions(values_of(rounded, 2, 64, 1), 1)) EXPECT_EQ(p.index, 0);
}

TEST(Sobol, OtherSeedsGiveOtherRowsAndTheSameSeedTheSame) {
  EXPECT_EQ(saltelli_design(8, 3, 5).a, saltelli_design(8, 3, 5).a);
  EXPECT_NE(saltelli_design(8, 3, 5).a, saltelli_design(8, 3, 6).a);
  for (const auto& row : saltelli_design(1000, 4, 1).b)
    for (const double u : row) EXPECT_TRUE(u >= 0 && u < 1);
}

}  // namespace
}  // namespace tilescope::experiments

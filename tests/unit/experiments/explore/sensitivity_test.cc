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

std::vector<SobolIndex> indices(const Function& f, std::size_t axes, std::size_t rows, std::int64_t seed) {
  const SaltelliDesign design = saltelli_design(rows, axes, seed);
  const auto at = [&](const std::vector<std::vector<double>>& inputs) {
    std::vector<double> out;
    for (const auto& x : inputs) out.push_back(f(x));
    return out;
  };
  SaltelliValues values{at(design.a), at(design.b), {}};
  for (std::size_t axis = 0; axis < axes; ++axis) values.ab.push_back(at(design.mixed(axis)));
  return sobol_indices(values, seed);
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

TEST(Sobol, NothingVariesWithoutVariance) {
  for (const SobolIndex& i : indices([](const auto&) { return 3.0; }, 2, 64, 1)) {
    EXPECT_EQ(i.first, 0);
    EXPECT_EQ(i.total, 0);
  }
}

TEST(Sobol, OtherSeedsGiveOtherRowsAndTheSameSeedTheSame) {
  EXPECT_EQ(saltelli_design(8, 3, 5).a, saltelli_design(8, 3, 5).a);
  EXPECT_NE(saltelli_design(8, 3, 5).a, saltelli_design(8, 3, 6).a);
  for (const auto& row : saltelli_design(1000, 4, 1).b)
    for (const double u : row) EXPECT_TRUE(u >= 0 && u < 1);
}

}  // namespace
}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
// The fit alone, on lines whose parameters are known.

#include "model/common/fit.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tilescope::model {
namespace {

// y = a u + b v + 0 w, by rows of three in a cluster.
FitProblem plane(double a, double b, const std::vector<double>& noise) {
  FitProblem p{{0, 0, 0.3}, -3, 0.4, {}, {}, {}};
  for (std::size_t i = 0; i < noise.size(); ++i) {
    p.weights.push_back(1);
    p.cluster.push_back(i / 3);
  }
  p.residuals = [=](const std::vector<double>& x) {
    std::vector<double> out;
    for (std::size_t i = 0; i < noise.size(); ++i) {
      const double u = std::sin(static_cast<double>(i)), v = std::cos(2.0 * static_cast<double>(i));
      out.push_back((x[0] - a) * u + (x[1] - b) * v + noise[i]);
    }
    return out;
  };
  return p;
}

std::vector<double> noise_of(std::size_t n, double size) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(size * std::sin(37.0 * static_cast<double>(i) + 1));
  return out;
}

TEST(Fit, FindsWhatRowsAgreeOn) {
  const Fit f = fit(plane(-0.7, -1.2, noise_of(300, 0)));
  EXPECT_NEAR(f.parameters[0].value, -0.7, 0.002);
  EXPECT_NEAR(f.parameters[1].value, -1.2, 0.002);
  EXPECT_EQ(f.parameters[2].verdict, Verdict::kNoResponse);
  EXPECT_EQ(f.parameters[2].value, 0.3);
}

TEST(Fit, StandardErrorsGrowWithNoise) {
  const Fit little = fit(plane(-0.7, -1.2, noise_of(300, 0.1))), much = fit(plane(-0.7, -1.2, noise_of(300, 0.4)));
  EXPECT_NEAR(little.parameters[0].value, -0.7, 0.03);
  EXPECT_GT(little.parameters[0].standard_error, 0);
  EXPECT_NEAR(much.parameters[0].standard_error / little.parameters[0].standard_error, 4, 1.5);
  const Fit few = fit(plane(-0.7, -1.2, noise_of(15, 2)));
  EXPECT_EQ(few.parameters[0].verdict, Verdict::kUncertain);
  EXPECT_EQ(few.parameters[0].value, 0) << "what is not known stays";
}

TEST(Fit, WhatLiesBeyondABoundIsGivenUp) {
  const Fit f = fit(plane(2, -1.2, noise_of(300, 0.01)));
  EXPECT_EQ(f.parameters[0].verdict, Verdict::kAtBound);
  EXPECT_EQ(f.parameters[0].value, 0);
}

TEST(Fit, TwoThatDoTheSameAreNotBothKnown) {
  FitProblem p = plane(-0.7, 0, noise_of(300, 0.01));
  p.start.pop_back();
  p.residuals = [=](const std::vector<double>& x) {
    std::vector<double> out;
    for (std::size_t i = 0; i < 300; ++i) out.push_back((x[0] + x[1] + 0.7) * (1 + std::sin(static_cast<double>(i))));
    return out;
  };
  const Fit f = fit(p);
  EXPECT_NE(f.parameters[0].verdict == Verdict::kIdentified, f.parameters[1].verdict == Verdict::kIdentified);
  EXPECT_NEAR(f.parameters[0].value + f.parameters[1].value, -0.7, 0.01);
}

}  // namespace
}  // namespace tilescope::model

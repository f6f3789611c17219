// SPDX-License-Identifier: Apache-2.0
// Statistics of errors, by hand.

#include "api/common/errors.h"

#include <gtest/gtest.h>

namespace tilescope::api {
namespace {

TEST(ErrorStatistics, OfAnEvenNumberOfErrors) {
  const ErrorStatistics s = statistics_of({0.5, -0.1, 0.2, -0.4});
  EXPECT_EQ(s.compared, 4U);
  EXPECT_NEAR(s.mape_ratio, 0.30, 1e-12);
  EXPECT_NEAR(s.median_error_ratio, 0.30, 1e-12);  // between 0.2 and 0.4
  EXPECT_NEAR(s.bias_ratio, 0.05, 1e-12);
}

TEST(ErrorStatistics, OfAnOddNumberOfErrors) {
  const ErrorStatistics s = statistics_of({0.5, -0.1, 0.2});
  EXPECT_NEAR(s.median_error_ratio, 0.20, 1e-12);
  EXPECT_NEAR(s.mape_ratio, 0.8 / 3, 1e-12);
  EXPECT_NEAR(s.bias_ratio, 0.2, 1e-12);
}

TEST(ErrorStatistics, OfNothing) {
  const ErrorStatistics s = statistics_of({});
  EXPECT_EQ(s.compared, 0U);
  EXPECT_EQ(s.mape_ratio, 0);
}

TEST(Quantile, IsTheLeastThatTheShareDoesNotExceed) {
  std::vector<Weighted> tenths;
  for (int i = 10; i > 0; --i) tenths.push_back({0.1 * i, 1.0 / 3});
  EXPECT_DOUBLE_EQ(quantile_of(tenths, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(quantile_of(tenths, 0.11), 0.2);
  EXPECT_DOUBLE_EQ(quantile_of(tenths, 0.9), 0.9);
  EXPECT_DOUBLE_EQ(quantile_of(tenths, 1), 1.0);
  EXPECT_DOUBLE_EQ(quantile_of({{1, 1}, {2, 8}, {3, 1}}, 0.15), 2);
  EXPECT_DOUBLE_EQ(quantile_of({{7, 0.5}}, 0.9), 7);
}

}  // namespace
}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#include "base/integer.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::base {
namespace {

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): the compilers mark no alias as an extension

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinValue = std::numeric_limits<std::int64_t>::min();

TEST(Integer, CeilDivRoundsUp) {
  EXPECT_EQ(ceil_div(0, 5), 0);
  EXPECT_EQ(ceil_div(1, 5), 1);
  EXPECT_EQ(ceil_div(5, 5), 1);
  EXPECT_EQ(ceil_div(6, 5), 2);
}

TEST(Integer, RoundUpGoesToTheNextMultiple) {
  EXPECT_EQ(round_up(0, 32), 0);
  EXPECT_EQ(round_up(1, 32), 32);
  EXPECT_EQ(round_up(32, 32), 32);
  EXPECT_EQ(round_up(33, 32), 64);
}

RC_GTEST_PROP(IntegerProperty, RoundUpIsTheSmallestMultipleThatIsEnough, ()) {
  const auto a = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
  const auto b = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
  const std::int64_t up = round_up(a, b);
  RC_ASSERT(up % b == 0);
  RC_ASSERT(up >= a);
  RC_ASSERT(up - b < a);
}

TEST(Integer, CheckedMulReportsOverflowOnBothSides) {
  EXPECT_EQ(checked_mul(kMaxValue, 1), kMaxValue);
  EXPECT_EQ(checked_mul(kMaxValue / 2, 2), kMaxValue - 1);
  EXPECT_EQ(checked_mul(kMaxValue / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checked_mul(kMinValue, 1), kMinValue);
  EXPECT_EQ(checked_mul(kMinValue, -1), std::nullopt);
}

TEST(Integer, CheckedAddReportsOverflowOnBothSides) {
  EXPECT_EQ(checked_add(kMaxValue - 1, 1), kMaxValue);
  EXPECT_EQ(checked_add(kMaxValue, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMinValue, 0), kMinValue);
  EXPECT_EQ(checked_add(kMinValue, -1), std::nullopt);
}

RC_GTEST_PROP(IntegerProperty, CheckedResultsAreTheExactOnes, (std::int64_t a, std::int64_t b)) {
  const auto fits = [](Wide exact) { return exact >= kMinValue && exact <= kMaxValue; };
  const Wide product = static_cast<Wide>(a) * b;
  const Wide sum = static_cast<Wide>(a) + b;
  RC_ASSERT(checked_mul(a, b).has_value() == fits(product));
  RC_ASSERT(checked_add(a, b).has_value() == fits(sum));
  if (const auto exact = checked_mul(a, b)) RC_ASSERT(*exact == product);
  if (const auto exact = checked_add(a, b)) RC_ASSERT(*exact == sum);
}

}  // namespace
}  // namespace tilescope::base

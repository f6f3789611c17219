// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_vector.h"

#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/check.h"

namespace tilescope::base {
namespace {

using Three = FixedVector<int, 3>;

TEST(FixedVector, BeginsEmptyAndKeepsWhatIsPushed) {
  Three v;
  EXPECT_TRUE(v.empty());
  v.push_back(7);
  v.push_back(8);
  EXPECT_EQ(v.size(), 2U);
  EXPECT_EQ(v[0], 7);
  EXPECT_EQ(v.back(), 8);
  EXPECT_EQ(std::vector<int>(v.begin(), v.end()), (std::vector<int>{7, 8}));
}

TEST(FixedVector, AssignReplacesEverything) {
  Three v{1, 2, 3};
  v.assign(2, 9);
  EXPECT_EQ(v, (Three{9, 9}));
  EXPECT_EQ(v, Three(2, 9));
}

TEST(FixedVector, ComparesOnlyWhatItHolds) {
  Three was_longer{1, 2, 3};
  was_longer.assign(1, 1);
  EXPECT_EQ(was_longer, Three{1});
  EXPECT_NE(was_longer, (Three{1, 2}));
  EXPECT_NE(Three{1}, Three{2});
}

TEST(FixedVector, RefusesMoreThanItsCapacity) {
  Three full{1, 2, 3};
  EXPECT_EQ(Three::capacity(), 3U);
  EXPECT_THROW(full.push_back(4), std::bad_alloc);
  EXPECT_EQ(full, (Three{1, 2, 3})) << "a refused element changes nothing";
  EXPECT_THROW(full.assign(4, 0), std::bad_alloc);
}

TEST(Check, NamesThePlaceAndTheClaim) {
  const int line = __LINE__ + 2;
  try {
    check(false, "one is two");
    FAIL() << "check(false) returned";
  } catch (const InternalError& bug) {
    const std::string expected = "fixed_vector_test.cc:" + std::to_string(line) + ": bug: one is two";
    EXPECT_TRUE(std::string(bug.what()).ends_with(expected)) << bug.what();
  }
  EXPECT_NO_THROW(check(true, "one is one"));
}

RC_GTEST_PROP(FixedVectorProperty, BehavesLikeAVector, (const std::vector<int>& values)) {
  FixedVector<int, 256> fixed;
  for (const int v : values) fixed.push_back(v);
  RC_ASSERT(std::vector<int>(fixed.begin(), fixed.end()) == values);
}

}  // namespace
}  // namespace tilescope::base

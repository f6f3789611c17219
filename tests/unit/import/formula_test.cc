// SPDX-License-Identifier: Apache-2.0
#include "import/formula.h"

#include <gmock/gmock.h>

namespace tilescope::importers {
namespace {

double value(std::string_view formula) {
  return evaluate(formula, [](std::string_view name) { return name == "a.b" ? 6.0 : name == "$c" ? 4.0 : 0.5; });
}

TEST(Formula, FollowsTheRulesOfArithmetic) {
  EXPECT_EQ(value("a.b - $c / 2 * 3"), 0);
  EXPECT_EQ(value("(a.b - $c) / 2 * 3"), 3);
  EXPECT_EQ(value("a.b - $c - 1"), 1);
  EXPECT_EQ(value("max(a.b, $c) + min(a.b, $c)"), 10);
  EXPECT_EQ(value("ceil(x) + 10 * floor(x) + 100 * round(1.4)"), 101);
  EXPECT_EQ(value("pow2(log2(32))"), 32);
}

TEST(Formula, NamesItsKeysOnce) {
  EXPECT_THAT(names_in("max(a:b.c, 2 * d[1]) + a:b.c / $e - 16"), testing::ElementsAre("a:b.c", "d[1]", "$e"));
  EXPECT_THAT(names_in("8"), testing::IsEmpty());
}

}  // namespace
}  // namespace tilescope::importers

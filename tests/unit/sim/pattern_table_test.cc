// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/pattern_table.h"

#include <gtest/gtest.h>

namespace tilescope::sim {
namespace {

TEST(LastFound, HoldsWhileWhatTheKeyIsMadeOfStays) {
  const std::vector<int> of = {0, 2};
  LastFound<int> last;
  EXPECT_EQ(last.find(of, {1, 5, 3}, 0), nullptr) << "nothing was kept";
  last.keep(of, {1, 5, 3}, 0, 7);
  ASSERT_NE(last.find(of, {1, 6, 3}, 0), nullptr) << "the key is not made of the second";
  EXPECT_EQ(*last.find(of, {1, 6, 3}, 0), 7);
  EXPECT_EQ(last.find(of, {2, 5, 3}, 0), nullptr);
  EXPECT_EQ(last.find(of, {1, 5, 4}, 0), nullptr);
}

// A full table forgets everything, and what pointed into it must not be used.
TEST(LastFound, EndsWhenTheTableForgets) {
  PatternTable<std::int64_t> table;
  const auto insert = [&](std::int64_t k) { return &table.insert(std::vector<std::int64_t>{k}, k); };
  LastFound<const std::int64_t*> last;
  last.keep({}, {}, table.forgotten(), insert(0));
  std::int64_t n = 1;
  for (; n < 1 << 20 && last.find({}, {}, table.forgotten()) != nullptr; ++n) insert(n);
  EXPECT_LT(n, 1 << 20) << "the table is bounded";
  EXPECT_EQ(table.find(std::vector<std::int64_t>{0}), nullptr);
}

}  // namespace
}  // namespace tilescope::sim

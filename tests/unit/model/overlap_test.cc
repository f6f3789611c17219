// SPDX-License-Identifier: Apache-2.0
// Blocks that share a core's resources: exact mean value analysis against its closed forms.

#include "model/common/detail/overlap.h"

#include <gtest/gtest.h>

namespace tilescope::model {
namespace {

TEST(CyclesPerRound, OfOneCustomerAreAllItNeeds) {
  EXPECT_DOUBLE_EQ(cycles_per_round(std::vector<double>{3, 0, 4}, 5, 1), 3 + 4 + 5);
  EXPECT_DOUBLE_EQ(cycles_per_round(std::vector<double>{3, 4}, -3, 1), 4) << "at both at a time";
}

// K equal resources and no waiting: n customers pass in n + K - 1 services of each (Reiser and Lavenberg 1980).
TEST(CyclesPerRound, OfEqualResourcesGrowByOneServiceACustomer) {
  for (const int customers : {1, 2, 5, 16})
    for (const int resources : {1, 2, 4})
      EXPECT_NEAR(cycles_per_round(std::vector<double>(static_cast<std::size_t>(resources), 7), 0, customers),
                  7.0 * (customers + resources - 1), 1e-9);
}

TEST(CyclesPerRound, ComeNearTheBusiestResourcesWithManyCustomers) {
  EXPECT_NEAR(cycles_per_round(std::vector<double>{10, 5, 2}, 100, 200) / 200, 10, 1e-6);
}

}  // namespace
}  // namespace tilescope::model

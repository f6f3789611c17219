// SPDX-License-Identifier: Apache-2.0
// Blocks that share a core's resources: exact mean value analysis against its closed forms.

#include "model/common/detail/overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

// Networks that are solved side by side have the answers that each has alone, to the last bit.
RC_GTEST_PROP(Networks, SideBySideAreSolvedAsAlone, ()) {
  const auto any_real = [](double most) { return most * static_cast<double>(*rc::gen::inRange(0, 1000)) / 999; };
  std::vector<Round> rounds(static_cast<std::size_t>(*rc::gen::inRange(1, 40)));
  for (Round& r : rounds) {
    for (double& demand : r.demand) demand = *rc::gen::inRange(0, 3) == 0 ? 0 : any_real(500);
    r.waiting = any_real(2000) - any_real(1000);
    r.customers = *rc::gen::inRange(0, 70);
  }
  std::vector<double> cycles(rounds.size(), -1);
  solve(rounds, cycles);
  for (std::size_t i = 0; i < rounds.size(); ++i)
    RC_ASSERT(cycles[i] == cycles_per_round(rounds[i].demand, rounds[i].waiting, rounds[i].customers));
}

}  // namespace
}  // namespace tilescope::model

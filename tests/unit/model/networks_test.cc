// SPDX-License-Identifier: Apache-2.0
// Queueing networks: exact mean value analysis against its closed forms and a plain loop.

#include "model/common/detail/networks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilescope::model {
namespace {

using Demand = std::array<double, kMaxResources>;

// Adds a network where there is room, and room where there is none.
std::size_t add(Networks& networks, std::size_t& count, const Demand& demand, double waiting) {
  if (count % kLanes == 0) {
    const std::size_t begin = networks.add_vectors(1);
    networks.vector(begin / kLanes) = {};
  }
  NetworkLanes& vector = networks.vector(count / kLanes);
  for (std::size_t r = 0; r < kMaxResources; ++r) vector.demand[r].of[count % kLanes] = demand[r];
  vector.waiting.of[count % kLanes] = waiting;
  return count++;
}

double cycles_of(const Demand& demand, double waiting, int customers) {
  Networks networks;
  std::size_t count = 0;
  const std::size_t question = networks.ask(add(networks, count, demand, waiting), customers);
  networks.solve();
  return networks.cycles(question);
}

// One network, one number of customers after the other.
double by_plain_loop(const Demand& demand, double waiting, int customers) {
  Demand queue{}, residence{};
  double cycle = 0;
  for (int n = 1; n <= customers; ++n) {
    cycle = waiting;
    for (std::size_t r = 0; r < demand.size(); ++r) cycle += residence[r] = demand[r] * (1 + queue[r]);
    if (cycle <= 0) return 0;
    const double rate = n / cycle;
    for (std::size_t r = 0; r < demand.size(); ++r) queue[r] = residence[r] * rate;
  }
  return cycle;
}

TEST(Networks, OfOneCustomerTakeAllItNeeds) {
  EXPECT_DOUBLE_EQ(cycles_of({3, 0, 4}, 5, 1), 3 + 4 + 5);
  EXPECT_DOUBLE_EQ(cycles_of({3, 4}, -3, 1), 4) << "at both at a time";
  EXPECT_EQ(cycles_of({3, 4}, 5, 0), 0);
}

// K equal resources and no waiting: n customers pass in n + K - 1 services of each (Reiser and Lavenberg 1980).
TEST(Networks, OfEqualResourcesGrowByOneServiceACustomer) {
  for (const int customers : {1, 2, 5, 16})
    for (const std::size_t resources : {std::size_t{1}, std::size_t{2}, std::size_t{4}, kMaxResources}) {
      Demand demand{};
      std::fill_n(demand.begin(), resources, 7);
      EXPECT_NEAR(cycles_of(demand, 0, customers), 7.0 * (customers + static_cast<double>(resources) - 1), 1e-9);
    }
}

TEST(Networks, ComeNearTheBusiestResourcesWithManyCustomers) {
  EXPECT_NEAR(cycles_of({10, 5, 2}, 100, 200) / 200, 10, 1e-6);
}

// Few and many networks that are solved side by side, and questions to one of them, have the answers that each has
// alone, to the last bit, also where others were asked before.
RC_GTEST_PROP(Networks, SideBySideAreSolvedAsAlone, ()) {
  const auto any_real = [](double most) { return most * static_cast<double>(*rc::gen::inRange(0, 1000)) / 999; };
  struct Asked {
    Demand demand{};
    double waiting = 0;
    int customers = 0;
    std::size_t question = 0;
  };
  Networks networks;
  for (int time = 0; time < 2; ++time) {
    networks.clear();
    std::size_t count = 0;
    std::vector<Asked> all;
    for (int n = *rc::gen::inRange(1, *rc::gen::element(16, 200)); n > 0; --n) {
      Asked asked;
      for (double& demand : asked.demand) demand = *rc::gen::inRange(0, 3) == 0 ? 0 : any_real(500);
      asked.waiting = any_real(2000) - any_real(1000);
      const std::size_t network = add(networks, count, asked.demand, asked.waiting);
      for (int questions = *rc::gen::inRange(0, 3); questions > 0; --questions) {
        asked.customers = *rc::gen::inRange(0, 70);
        asked.question = networks.ask(network, asked.customers);
        all.push_back(asked);
      }
    }
    networks.solve();
    for (const Asked& asked : all)
      RC_ASSERT(networks.cycles(asked.question) == by_plain_loop(asked.demand, asked.waiting, asked.customers));
  }
}

}  // namespace
}  // namespace tilescope::model

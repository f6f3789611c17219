#include "model/overlap.h"

#include <array>

#include "base/check.h"

namespace tilescope::model {

double cycles_per_round(std::span<const double> demand, double waiting, int customers) {
  base::check(demand.size() <= kMostResources, "a network has at most kMostResources resources");
  std::array<double, kMostResources> queue{};  // customers found at a resource on arrival
  double cycle = 0;
  for (int n = 1; n <= customers; ++n) {
    std::array<double, kMostResources> residence{};
    cycle = waiting;
    for (std::size_t r = 0; r < demand.size(); ++r) {
      residence[r] = demand[r] * (1 + queue[r]);
      cycle += residence[r];
    }
    if (cycle <= 0) return 0;
    const double rate = n / cycle;
    for (std::size_t r = 0; r < demand.size(); ++r) queue[r] = residence[r] * rate;
  }
  return cycle;
}

}  // namespace tilescope::model

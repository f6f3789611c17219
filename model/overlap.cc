#include "model/overlap.h"

#include <array>

#include "base/check.h"

namespace tilescope::model {

double cycles_per_round(std::span<const double> demand, double waiting, int customers) {
  base::check(demand.size() <= kMostResources, "a network has at most kMostResources resources");
  // Resources that are asked for nothing delay no customer.
  std::array<double, kMostResources> needed;
  std::array<double, kMostResources> residence;
  std::array<double, kMostResources> queue;  // customers found at a resource on arrival
  std::size_t resources = 0;
  for (const double cycles : demand) {
    if (cycles == 0) continue;
    needed[resources] = cycles;
    queue[resources++] = 0;
  }
  double cycle = 0;
  for (int n = 1; n <= customers; ++n) {
    cycle = waiting;
    for (std::size_t r = 0; r < resources; ++r) {
      residence[r] = needed[r] * (1 + queue[r]);
      cycle += residence[r];
    }
    if (cycle <= 0) return 0;
    const double rate = n / cycle;
    for (std::size_t r = 0; r < resources; ++r) queue[r] = residence[r] * rate;
  }
  return cycle;
}

}  // namespace tilescope::model

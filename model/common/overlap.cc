// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/overlap.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tilescope::model {

double cycles_per_round(std::span<const double> demand, double waiting, int customers) {
  base::check(demand.size() <= kMaxResources, "a network has at most kMostResources resources");
  // Resources that are asked for nothing delay no customer.
  std::array<double, kMaxResources> needed;
  std::array<double, kMaxResources> residence;
  std::array<double, kMaxResources> queue;  // customers found at a resource on arrival
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

void add(Estimate& e, const Part& part) {
  base::check(e.terms.size() == part.busy_us.size() + 2, "latency and launch follow the terms that overlap");
  const double busiest_us = *std::max_element(part.busy_us.begin(), part.busy_us.end());
  const double elapsed_us = std::max(part.elapsed_us, busiest_us);
  NamedTerm* term = e.terms.begin();
  for (const double us : part.busy_us) (term++)->time_us += us;
  (term++)->time_us += elapsed_us - busiest_us;
  term->time_us += part.launch_us;
  e.total_us += part.launch_us + elapsed_us;
}

}  // namespace tilescope::model

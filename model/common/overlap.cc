// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/overlap.h"

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <numeric>

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

namespace {

// Networks side by side, lane by lane; the compiler makes vectors of the inner loops.
constexpr std::size_t kLanes = 16;
using Lanes = std::array<double, kLanes>;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define TILESCOPE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TILESCOPE_CLONES
#endif

// As cycles_per_round. `resources` of the demands are looked at, `most` customers; a lane's answer is that of its own.
TILESCOPE_CLONES
void solve_lanes(const std::array<Lanes, kMaxResources>& demand, std::size_t resources, const Lanes& waiting,
                 const Lanes& customers, int most, Lanes& answer) {
  std::array<Lanes, kMaxResources> queue{}, residence;
  Lanes cycle, ended{};
  for (int n = 1; n <= most; ++n) {
    const double arrived = n;
    cycle = waiting;
    for (std::size_t r = 0; r < resources; ++r)
      for (std::size_t l = 0; l < kLanes; ++l) {
        residence[r][l] = demand[r][l] * (1 + queue[r][l]);
        cycle[l] += residence[r][l];
      }
    for (std::size_t l = 0; l < kLanes; ++l) {
      ended[l] = cycle[l] <= 0 ? 1 : ended[l];
      answer[l] = customers[l] == arrived ? (ended[l] == 0 ? cycle[l] : 0) : answer[l];
      cycle[l] = arrived / cycle[l];
    }
    for (std::size_t r = 0; r < resources; ++r)
      for (std::size_t l = 0; l < kLanes; ++l) queue[r][l] = residence[r][l] * cycle[l];
  }
}

}  // namespace

void solve(std::span<const Round> rounds, std::span<double> cycles) {
  // Lanes of one vector end together where they have as many customers.
  boost::container::small_vector<std::size_t, 64> order(rounds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (rounds.size() > kLanes)
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rounds[a].customers != rounds[b].customers ? rounds[a].customers < rounds[b].customers : a < b;
    });
  for (std::size_t first = 0; first < order.size(); first += kLanes) {
    const std::size_t lanes = std::min(kLanes, order.size() - first);
    std::array<Lanes, kMaxResources> demand{};
    Lanes waiting{}, customers{}, answer{};
    std::size_t resources = 0;
    int most = 0;
    for (std::size_t l = 0; l < lanes; ++l) {
      const Round& round = rounds[order[first + l]];
      for (std::size_t r = 0; r < kMaxResources; ++r) {
        demand[r][l] = round.demand[r];
        if (round.demand[r] != 0) resources = std::max(resources, r + 1);
      }
      waiting[l] = round.waiting;
      customers[l] = round.customers;
      most = std::max(most, round.customers);
    }
    solve_lanes(demand, resources, waiting, customers, most, answer);
    for (std::size_t l = 0; l < lanes; ++l) cycles[order[first + l]] = answer[l];
  }
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

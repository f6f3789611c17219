// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/networks.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace tilescope::model {
namespace {

// Networks side by side, lane by lane; the compiler makes vectors of the loops over lanes.
constexpr std::size_t kLanes = 16;
struct alignas(64) Lanes {
  double of[kLanes];
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define TILESCOPE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TILESCOPE_CLONES
#endif

// The cycles of every number of customers up to `most`. The number of resources is the compiler's, so that what one
// step of the analysis has of all of them stays in registers.
template <std::size_t kResources>
[[gnu::always_inline]] inline void analyse(const Lanes* demand, const Lanes& waiting, int most, Lanes* cycles) {
  Lanes queue[kResources] = {};  // customers found at a resource on arrival
  Lanes ended = {};
  for (int n = 0; n < most; ++n) {
    const double customers = n + 1;
    Lanes& out = cycles[n];
    for (std::size_t l = 0; l < kLanes; ++l) {
      double residence[kResources];
      double cycle = waiting.of[l];
#pragma GCC unroll 10
      for (std::size_t r = 0; r < kResources; ++r) {
        residence[r] = demand[r].of[l] * (1 + queue[r].of[l]);
        cycle += residence[r];
      }
      ended.of[l] = cycle <= 0 ? 1 : ended.of[l];
      out.of[l] = ended.of[l] == 0 ? cycle : 0;
      const double rate = customers / cycle;
#pragma GCC unroll 10
      for (std::size_t r = 0; r < kResources; ++r) queue[r].of[l] = residence[r] * rate;
    }
  }
}

TILESCOPE_CLONES
void analyse(std::size_t resources, const Lanes* demand, const Lanes& waiting, int most, Lanes* cycles) {
  static_assert(kMaxResources == 10);
  switch (resources) {
    case 0:
    case 1:
      return analyse<1>(demand, waiting, most, cycles);
    case 2:
      return analyse<2>(demand, waiting, most, cycles);
    case 3:
      return analyse<3>(demand, waiting, most, cycles);
    case 4:
      return analyse<4>(demand, waiting, most, cycles);
    case 5:
      return analyse<5>(demand, waiting, most, cycles);
    case 6:
      return analyse<6>(demand, waiting, most, cycles);
    case 7:
      return analyse<7>(demand, waiting, most, cycles);
    case 8:
      return analyse<8>(demand, waiting, most, cycles);
    case 9:
      return analyse<9>(demand, waiting, most, cycles);
    default:
      return analyse<10>(demand, waiting, most, cycles);
  }
}

}  // namespace

std::size_t Networks::add(const Demand& demand, double waiting, std::size_t since) {
  for (std::size_t known = networks_.size(); known-- > since;)
    if (networks_[known].waiting == waiting && networks_[known].demand == demand) return known;
  networks_.push_back({demand, waiting});
  return networks_.size() - 1;
}

std::size_t Networks::ask(std::size_t network, int customers) {
  Network& of = networks_[network];
  of.most = std::max(of.most, customers);
  questions_.push_back({customers, of.question});
  return of.question = questions_.size() - 1;
}

void Networks::clear() {
  networks_.clear();
  questions_.clear();
}

void Networks::solve() {
  boost::container::small_vector<std::size_t, 64> order(networks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Lanes of one vector end together where they have as many customers.
  if (order.size() > kLanes)
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return networks_[a].most != networks_[b].most ? networks_[a].most < networks_[b].most : a < b;
    });
  for (std::size_t first = 0; first < order.size(); first += kLanes)
    solve_together(order.data() + first, std::min(kLanes, order.size() - first));
}

void Networks::solve_together(const std::size_t* networks, std::size_t count) {
  std::array<Lanes, kMaxResources> demand;
  Lanes waiting = {};
  int most = 0;
  for (std::size_t l = 0; l < count; ++l) {
    waiting.of[l] = networks_[networks[l]].waiting;
    most = std::max(most, networks_[networks[l]].most);
  }
  // Resources that are asked for nothing delay no customer.
  std::size_t resources = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    Lanes& of = demand[resources] = {};
    for (std::size_t l = 0; l < count; ++l) of.of[l] = networks_[networks[l]].demand[r];
    resources += std::any_of(of.of, of.of + count, [](double d) { return d != 0; }) ? 1 : 0;
  }
  if (resources == 0) demand[0] = {};
  // The standard allocator aligns what needs it.
  boost::container::small_vector<Lanes, 32, std::allocator<Lanes>> cycles(static_cast<std::size_t>(most),
                                                                          boost::container::default_init);
  analyse(resources, demand.data(), waiting, most, cycles.data());
  for (std::size_t l = 0; l < count; ++l)
    for (std::size_t q = networks_[networks[l]].question; q != kNone; q = questions_[q].before)
      if (const int n = questions_[q].customers; n > 0)
        questions_[q].cycles = cycles[static_cast<std::size_t>(n - 1)].of[l];
}

}  // namespace tilescope::model

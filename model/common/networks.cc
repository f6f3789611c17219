// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/networks.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace tilescope::model {
namespace {

// The cycles of every number of customers up to `most`. The number of resources is the compiler's, so that what one
// step of the analysis has of all of them stays in registers.
template <std::size_t kResources>
[[gnu::always_inline]] inline void analyse(const Lanes* __restrict demand, const Lanes& waiting, int most,
                                           Lanes* __restrict cycles) {
  std::array<Lanes, kResources> queue = {};  // customers found at a resource on arrival
  Lanes ended = {};
  for (int n = 0; n < most; ++n) {
    const double customers = n + 1;
    Lanes& out = cycles[n];
    for (std::size_t l = 0; l < kLanes; ++l) {
      std::array<double, kResources> residence;
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

TILESCOPE_VECTORS
void analyse(std::size_t resources, const Lanes* __restrict demand, const Lanes& waiting, int most,
             Lanes* __restrict cycles) {
  static_assert(kMaxResources == 10);
  switch (resources) {
    case 0:
      return analyse<0>(demand, waiting, most, cycles);
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

bool any(const Lanes& lanes) {
  return std::any_of(std::begin(lanes.of), std::end(lanes.of), [](double d) { return d != 0; });
}

}  // namespace

std::size_t Networks::add_vectors(std::size_t count) {
  const std::size_t first = vectors_.size() * kLanes;
  vectors_.resize(vectors_.size() + count, boost::container::default_init);
  most_.resize(vectors_.size(), 0);
  return first;
}

std::size_t Networks::ask(std::size_t network, int customers) {
  int& most = most_[network / kLanes];
  most = std::max(most, customers);
  Question& question = questions_.emplace_back();
  question.network = network, question.customers = customers;
  return questions_.size() - 1;
}

void Networks::clear() {
  vectors_.clear();
  most_.clear();
  questions_.clear();
}

void Networks::solve() {
  // Cycles of every number of customers, one vector after the other.
  boost::container::small_vector<Lanes, 48, std::allocator<Lanes>> cycles;
  boost::container::small_vector<std::size_t, 4> first;
  std::size_t all = 0;
  for (const int most : most_) {
    first.push_back(all);
    all += static_cast<std::size_t>(most);
  }
  cycles.resize(all, boost::container::default_init);
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    // Resources that are asked for nothing delay no customer.
    std::array<Lanes, kMaxResources> demand;
    std::size_t resources = 0;
    for (const Lanes& of : vectors_[v].demand)
      if (any(of)) demand[resources++] = of;
    analyse(resources, demand.data(), vectors_[v].waiting, most_[v], cycles.data() + first[v]);
  }
  for (Question& q : questions_)
    if (q.customers > 0)
      q.cycles = cycles[first[q.network / kLanes] + static_cast<std::size_t>(q.customers - 1)].of[q.network % kLanes];
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/networks.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

namespace tilescope::model {
namespace {

template <std::size_t kCount>
struct alignas(64) LanesOf {
  double of[kCount];
};

// Cycles of every number of customers up to `most`, of so many lanes. The number of resources is the compiler's, so
// that what one step of the analysis has of all of them stays in registers.
template <std::size_t kResources, class Of>
[[gnu::always_inline]] inline void analyse(const Of* __restrict demand, const Of& waiting, int most,
                                           Of* __restrict cycles) {
  constexpr std::size_t kCount = sizeof(Of) / sizeof(double);
  std::array<Of, kResources> queue = {};  // customers found at a resource on arrival
  Of ended = {};
  for (int n = 0; n < most; ++n) {
    const double customers = n + 1;
    Of& out = cycles[n];
    for (std::size_t l = 0; l < kCount; ++l) {
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

template <class Of, std::size_t... kResources>
[[gnu::always_inline]] inline void analyse(std::size_t resources, const Of* demand, const Of& waiting, int most,
                                           Of* cycles, std::index_sequence<kResources...> /*any number*/) {
  ((resources == kResources ? analyse<kResources>(demand, waiting, most, cycles) : void()), ...);
}
using AnyNumber = std::make_index_sequence<kMaxResources + 1>;

// Two vectors at a time: one computes while the other waits for its results.
using TwoVectors = LanesOf<2 * kLanes>;

TILESCOPE_VECTORS
void analyse_one(std::size_t resources, const Lanes* demand, const Lanes& waiting, int most, Lanes* cycles) {
  analyse(resources, demand, waiting, most, cycles, AnyNumber());
}

TILESCOPE_VECTORS
void analyse_two(std::size_t resources, const TwoVectors* demand, const TwoVectors& waiting, int most,
                 TwoVectors* cycles) {
  analyse(resources, demand, waiting, most, cycles, AnyNumber());
}

// Some vectors of networks side by side, and their cycles for every number of customers up to `most`.
template <class Of>
class Together {
 public:
  static constexpr std::size_t kVectors = std::size(Of{}.of) / kLanes;

  void solve(std::array<const NetworkLanes*, kVectors> vectors, int most) {
    const auto copy = [&](Of& to, const auto& lanes_of) {
      for (std::size_t v = 0; v < kVectors; ++v)
        std::copy_n(lanes_of(*vectors[v]).of, kLanes, std::begin(to.of) + v * kLanes);
    };
    Of waiting;
    copy(waiting, [](const NetworkLanes& n) -> const Lanes& { return n.waiting; });
    // Resources that are asked for nothing delay no customer.
    std::array<Of, kMaxResources> demand;
    std::size_t resources = 0;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      Of& of = demand[resources];
      copy(of, [r](const NetworkLanes& n) -> const Lanes& { return n.demand[r]; });
      resources += std::any_of(std::begin(of.of), std::end(of.of), [](double d) { return d != 0; }) ? 1 : 0;
    }
    cycles_.resize(static_cast<std::size_t>(most), boost::container::default_init);
    if constexpr (kVectors == 1)
      analyse_one(resources, demand.data(), waiting, most, cycles_.data());
    else
      analyse_two(resources, demand.data(), waiting, most, cycles_.data());
  }
  double cycles(int customers, std::size_t lane) const {
    return customers == 0 ? 0 : cycles_[static_cast<std::size_t>(customers - 1)].of[lane];
  }

 private:
  boost::container::small_vector<Of, 48, std::allocator<Of>> cycles_;  // aligned, as their lanes ask for it
};

}  // namespace

std::size_t Networks::add_vectors(std::size_t count) {
  const std::size_t first = vectors_.size() * kLanes;
  vectors_.resize(vectors_.size() + count, boost::container::default_init);
  asked_.resize(vectors_.size());
  return first;
}

std::size_t Networks::ask(std::size_t network, int customers) {
  NetworkDemand& asked = asked_[network / kLanes];
  asked.most = std::max(asked.most, customers);
  Question& question = questions_.emplace_back();
  question.network = network, question.customers = customers;
  question.before = asked.last;
  return asked.last = questions_.size() - 1;
}

void Networks::clear() {
  vectors_.clear();
  asked_.clear();
  questions_.clear();
}

void Networks::solve() {
  // Those side by side that are asked about as many customers.
  boost::container::small_vector<std::size_t, 2> order(vectors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return asked_[a].most < asked_[b].most; });
  const auto answer = [&](std::size_t v, const auto& solved, std::size_t first_lane) {
    for (std::size_t q = asked_[v].last; q != kNone; q = questions_[q].before)
      questions_[q].cycles = solved.cycles(questions_[q].customers, first_lane + questions_[q].network % kLanes);
  };
  std::size_t at = 0;
  for (Together<TwoVectors> two; at + 1 < order.size(); at += 2) {
    two.solve({&vectors_[order[at]], &vectors_[order[at + 1]]}, asked_[order[at + 1]].most);
    answer(order[at], two, 0);
    answer(order[at + 1], two, kLanes);
  }
  if (at == order.size()) return;
  Together<Lanes> one;
  one.solve({&vectors_[order[at]]}, asked_[order[at]].most);
  answer(order[at], one, 0);
}

}  // namespace tilescope::model

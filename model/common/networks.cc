// SPDX-License-Identifier: Apache-2.0
#include "model/common/detail/networks.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

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

template <class Of>
[[gnu::always_inline]] inline void analyse(std::size_t resources, const Of* demand, const Of& waiting, int most,
                                           Of* cycles) {
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

// Of many networks two vectors at a time: one computes while the other waits for its results.
using ManyLanes = LanesOf<2 * kLanes>;

TILESCOPE_VECTORS
void analyse_few(std::size_t resources, const Lanes* demand, const Lanes& waiting, int most, Lanes* cycles) {
  analyse(resources, demand, waiting, most, cycles);
}

TILESCOPE_VECTORS
void analyse_many(std::size_t resources, const ManyLanes* demand, const ManyLanes& waiting, int most,
                  ManyLanes* cycles) {
  analyse(resources, demand, waiting, most, cycles);
}

template <class Of>
bool any(const Of& lanes) {
  return std::any_of(std::begin(lanes.of), std::end(lanes.of), [](double d) { return d != 0; });
}

// The standard allocator aligns what needs it.
template <class Of, std::size_t kInPlace>
using Cycles = boost::container::small_vector<Of, kInPlace, std::allocator<Of>>;

}  // namespace

std::size_t Networks::add_vectors(std::size_t count) {
  const std::size_t first = most_.size();
  vectors_.resize(vectors_.size() + count, boost::container::default_init);
  most_.resize(first + count * kLanes, 0);
  return first;
}

std::size_t Networks::ask(std::size_t network, int customers) {
  most_[network] = std::max(most_[network], customers);
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
  if (vectors_.size() <= 2)
    solve_in_place();
  else
    solve_by_customers();
}

// Vectors as they are, each until its last lane has its answers.
void Networks::solve_in_place() {
  Cycles<Lanes, 48> cycles;
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    const std::size_t begin = v * kLanes;
    const int most = *std::max_element(most_.begin() + begin, most_.begin() + begin + kLanes);
    cycles.resize(static_cast<std::size_t>(most), boost::container::default_init);
    // Resources that are asked for nothing delay no customer.
    std::array<Lanes, kMaxResources> demand;
    std::size_t resources = 0;
    for (const Lanes& of : vectors_[v].demand)
      if (any(of)) demand[resources++] = of;
    analyse_few(resources, demand.data(), vectors_[v].waiting, most, cycles.data());
    for (Question& q : questions_)
      if (q.network / kLanes == v && q.customers > 0)
        q.cycles = cycles[static_cast<std::size_t>(q.customers - 1)].of[q.network % kLanes];
  }
}

// Networks that are asked about as many customers side by side, so that all lanes of a vector end together.
void Networks::solve_by_customers() {
  constexpr std::size_t kTogether = sizeof(ManyLanes) / sizeof(double);
  const auto most = static_cast<std::size_t>(*std::max_element(most_.begin(), most_.end()));
  std::vector<std::size_t> begin(most + 2), place(most_.size()), order(most_.size());
  for (const int customers : most_) ++begin[static_cast<std::size_t>(customers) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  const std::size_t unasked = begin[1];
  for (std::size_t n = 0; n < most_.size(); ++n) order[place[n] = begin[static_cast<std::size_t>(most_[n])]++] = n;

  std::vector<std::size_t> first;  // of each vector's cycles
  std::size_t all = 0;
  for (std::size_t at = unasked; at < order.size(); at += kTogether) {
    first.push_back(all);
    all += static_cast<std::size_t>(most_[order[std::min(at + kTogether, order.size()) - 1]]);
  }
  Cycles<ManyLanes, 1> cycles(all, boost::container::default_init);
  for (std::size_t v = 0; v < first.size(); ++v) {
    const std::size_t at = unasked + v * kTogether, lanes = std::min(kTogether, order.size() - at);
    std::array<ManyLanes, kMaxResources> demand;
    ManyLanes waiting = {};
    for (std::size_t l = 0; l < lanes; ++l)
      waiting.of[l] = vectors_[order[at + l] / kLanes].waiting.of[order[at + l] % kLanes];
    std::size_t resources = 0;
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      ManyLanes& of = demand[resources] = {};
      for (std::size_t l = 0; l < lanes; ++l)
        of.of[l] = vectors_[order[at + l] / kLanes].demand[r].of[order[at + l] % kLanes];
      resources += any(of) ? 1 : 0;
    }
    analyse_many(resources, demand.data(), waiting, most_[order[at + lanes - 1]], cycles.data() + first[v]);
  }
  for (Question& q : questions_)
    if (q.customers > 0) {
      const std::size_t at = place[q.network] - unasked;
      q.cycles = cycles[first[at / kTogether] + static_cast<std::size_t>(q.customers - 1)].of[at % kTogether];
    }
}

}  // namespace tilescope::model

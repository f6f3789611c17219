// SPDX-License-Identifier: Apache-2.0
#include "experiments/explore/pareto.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace tilescope::experiments {
namespace {

// Nowhere worse and somewhere better.
bool is_better(const std::vector<double>& a, const std::vector<double>& b) {
  base::check(a.size() == b.size(), "designs that are compared have the same objectives");
  bool somewhere = false;
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (a[o] > b[o]) return false;
    somewhere = somewhere || a[o] < b[o];
  }
  return somewhere;
}

}  // namespace

bool dominates(const Merit& a, const Merit& b) {
  if (a.is_feasible() && b.is_feasible()) return is_better(a.objectives, b.objectives);
  if (a.is_feasible() != b.is_feasible()) return a.is_feasible();
  return a.violation < b.violation;
}

std::vector<std::size_t> front_of(const std::vector<Merit>& designs) {
  std::vector<std::size_t> order, out;
  for (std::size_t i = 0; i < designs.size(); ++i)
    if (designs[i].is_feasible()) order.push_back(i);
  // No design dominates one that stands before it in this order.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return designs[a].objectives < designs[b].objectives; });
  for (const std::size_t i : order) {
    const auto beats = [&](std::size_t f) { return is_better(designs[f].objectives, designs[i].objectives); };
    if (std::none_of(out.begin(), out.end(), beats)) out.push_back(i);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::vector<std::size_t>> ranks_of(const std::vector<Merit>& designs) {
  std::vector<std::vector<std::size_t>> dominated(designs.size()), out;
  std::vector<std::size_t> dominators(designs.size()), rank;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    for (std::size_t j = 0; j < designs.size(); ++j) {
      if (dominates(designs[i], designs[j])) dominated[i].push_back(j);
      if (dominates(designs[j], designs[i])) ++dominators[i];
    }
    if (dominators[i] == 0) rank.push_back(i);
  }
  while (!rank.empty()) {
    std::vector<std::size_t> next;
    for (const std::size_t i : rank)
      for (const std::size_t j : dominated[i])
        if (--dominators[j] == 0) next.push_back(j);
    std::sort(next.begin(), next.end());
    out.push_back(std::exchange(rank, std::move(next)));
  }
  return out;
}

std::vector<double> crowding_of(const std::vector<Merit>& designs, const std::vector<std::size_t>& rank) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> out(rank.size(), 0.0);
  if (rank.empty() || !designs[rank.front()].is_feasible()) return out;  // a rank is feasible, or none of it is
  std::vector<std::size_t> order(rank.size());
  for (std::size_t o = 0; o < designs[rank.front()].objectives.size(); ++o) {
    const auto value = [&](std::size_t place) { return designs[rank[place]].objectives[o]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
    const double range = value(order.back()) - value(order.front());
    out[order.front()] = out[order.back()] = kInfinity;
    for (std::size_t i = 1; range > 0 && i + 1 < order.size(); ++i)
      out[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / range;
  }
  return out;
}

}  // namespace tilescope::experiments

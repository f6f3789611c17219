// SPDX-License-Identifier: Apache-2.0
#include "experiments/multi_fidelity/choice.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "experiments/explore/pareto.h"

namespace tilescope::experiments {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether the point is no base, meets the constraints and has a predicted time.
bool stands(const std::vector<JudgedPoint>& points, std::size_t i) {
  return !points[i].is_base && points[i].feasible && points[i].predicted_us.has_value();
}

double cost_of(const JudgedPoint& p) { return p.cost.value_or(0); }

std::vector<std::size_t> by_cost(const std::vector<JudgedPoint>& points) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (stands(points, i)) out.push_back(i);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return cost_of(points[a]) < cost_of(points[b]); });
  return out;
}

// Calls `each` with the points of one cost after another, and the least of `time` among those that cost less.
template <class Time, class Each>
void along_costs(const std::vector<JudgedPoint>& points, const Time& time, const Each& each) {
  const std::vector<std::size_t> order = by_cost(points);
  double cheaper = kInfinity;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double least = kInfinity;
    for (; end < order.size() && cost_of(points[order[end]]) == cost_of(points[order[begin]]); ++end)
      least = std::min(least, time(order[end]));
    for (std::size_t i = begin; i < end; ++i) each(order[i], cheaper, least);
    cheaper = std::min(cheaper, least);
    begin = end;
  }
}

}  // namespace

std::vector<std::size_t> front_of(const std::vector<JudgedPoint>& points) {
  std::vector<std::size_t> out;
  if (std::any_of(points.begin(), points.end(), [](const JudgedPoint& p) { return p.on_front.has_value(); })) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (stands(points, i) && points[i].on_front.value_or(false)) out.push_back(i);
    return out;
  }
  const auto time = [&](std::size_t i) { return *points[i].predicted_us; };
  along_costs(points, time, [&](std::size_t i, double cheaper, double same_cost) {
    if (time(i) < cheaper && time(i) <= same_cost) out.push_back(i);
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::size_t> population_of(const std::vector<JudgedPoint>& points, const std::vector<std::size_t>& front) {
  std::set<std::size_t> seen;
  for (const std::size_t i : front) seen.insert(points[i].same_as);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (stands(points, i) && seen.insert(points[i].same_as).second) out.push_back(i);
  return out;
}

std::vector<std::size_t> validation_sample_of(const std::vector<JudgedPoint>& points,
                                              const std::vector<std::size_t>& front, std::size_t n, std::int64_t seed) {
  std::vector<std::pair<std::string, std::size_t>> ranked;
  for (const std::size_t i : population_of(points, front))
    ranked.emplace_back(base::content_hash(fmt::format("control {} {}", seed, points[i].name)), i);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(n, ranked.size()));
  std::vector<std::size_t> out;
  for (const auto& [hash, i] : ranked) out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

// How close points are to being excluded, those that are not, the farthest first.
using Reach = std::vector<std::pair<double, std::size_t>>;

// By the low end over the high end of the fastest point at most as costly.
Reach reach_by_cost(const std::vector<JudgedPoint>& points, const std::vector<std::optional<TimeInterval>>& intervals) {
  Reach reach;
  const auto high = [&](std::size_t i) { return intervals[i] ? intervals[i]->high_us : kInfinity; };
  along_costs(points, high, [&](std::size_t i, double cheaper, double same_cost) {
    if (!intervals[i]) return;
    const double ratio = intervals[i]->low_us / std::min(cheaper, same_cost);
    if (ratio <= 1) reach.emplace_back(ratio, i);
  });
  return reach;
}

// By ranges of objectives. A point that excludes another is excluded by none, or the one that excludes it does too:
// the front of the high ends is compared with alone.
Reach reach_by_objectives(const std::vector<JudgedPoint>& points) {
  std::vector<Merit> highs;
  std::vector<double> least, span;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& range = points[i].range;
    highs.push_back(stands(points, i) && range ? Merit{range->high, 0} : no_merit());
    if (!highs.back().is_feasible()) continue;
    if (least.empty()) least = range->low, span.assign(least.size(), -kInfinity);
    for (std::size_t o = 0; o < least.size(); ++o) {
      least[o] = std::min(least[o], range->low[o]);
      span[o] = std::max(span[o], range->high[o]);
    }
  }
  for (std::size_t o = 0; o < span.size(); ++o) span[o] = span[o] > least[o] ? span[o] - least[o] : 1;
  const std::vector<std::size_t> front = front_of(highs);
  Reach reach;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!highs[i].is_feasible()) continue;
    const Merit own{points[i].range->low, 0};
    double lead = kInfinity;  // over the point that it is least ahead of
    bool excluded = false;
    for (const std::size_t j : front) {
      if (j == i || points[j].same_as == points[i].same_as) continue;
      excluded = excluded || dominates(highs[j], own);
      double ahead = -kInfinity;
      for (std::size_t o = 0; o < span.size(); ++o)
        ahead = std::max(ahead, (highs[j].objectives[o] - own.objectives[o]) / span[o]);
      lead = std::min(lead, ahead);
    }
    if (!excluded) reach.emplace_back(-lead, i);
  }
  return reach;
}

}  // namespace

std::vector<std::size_t> neighbours_of(const std::vector<JudgedPoint>& points,
                                       const std::vector<std::optional<TimeInterval>>& intervals,
                                       std::optional<std::size_t> most) {
  std::set<std::size_t> chosen;
  for (const JudgedPoint& p : points)
    if (p.chosen != Chosen::kNot) chosen.insert(p.same_as);
  const bool ranges =
      std::any_of(points.begin(), points.end(), [](const JudgedPoint& p) { return p.range.has_value(); });
  Reach reach = ranges ? reach_by_objectives(points) : reach_by_cost(points, intervals);
  std::sort(reach.begin(), reach.end());
  std::vector<std::size_t> out;
  for (const auto& [how_far, i] : reach) {
    if (most && out.size() == *most) break;
    if (chosen.insert(points[i].same_as).second) out.push_back(i);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::pair<std::size_t, Chosen>> chosen_at(const StoredMultiFidelity& multi_fidelity,
                                                      const std::vector<JudgedPoint>& points) {
  std::vector<std::pair<std::size_t, Chosen>> out;
  const auto add = [&](const std::vector<std::size_t>& chosen, Chosen reason) {
    for (const std::size_t i : chosen) out.emplace_back(i, reason);
  };
  if (multi_fidelity.chosen == StoredMultiFidelity::Stage::kFrontAndValidation) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].is_base && points[i].predicted_us) out.emplace_back(i, Chosen::kBase);
    const std::vector<std::size_t> front = multi_fidelity.front ? front_of(points) : std::vector<std::size_t>();
    add(front, Chosen::kFront);
    add(validation_sample_of(points, front, multi_fidelity.validation_sample, multi_fidelity.seed),
        Chosen::kValidation);
  } else if (multi_fidelity.chosen == StoredMultiFidelity::Stage::kNeighbours && multi_fidelity.front) {
    add(neighbours_of(points, intervals_of(points, validation_ratio(points)), multi_fidelity.neighbours),
        Chosen::kNeighbour);
  }
  return out;
}

}  // namespace tilescope::experiments

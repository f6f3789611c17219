// SPDX-License-Identifier: Apache-2.0
#include "experiments/multi_fidelity/result.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "experiments/objectives/stored.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

std::string key_of(const StoredPoint& p) {
  std::string out = p.base;
  for (const StoredValue& v : p.at) out += "\n" + v.text;
  return out;
}

// Of one point, the sums over its operators.
struct Sums {
  std::size_t predicted = 0, simulated = 0, failed = 0, banded = 0;
  double predicted_us = 0, simulated_us = 0, low_us = 0, high_us = 0;

  void add(double weight, const StoredRow& r) {
    if (!r.error.empty() || !r.prediction) return;
    ++predicted;
    predicted_us += weight * r.prediction->predicted_us;
    failed += r.simulation_error.empty() ? 0 : 1;
    if (const auto& band = r.prediction->band) {
      ++banded;
      low_us += weight * band->low_us;
      high_us += weight * band->high_us;
    }
    if (!r.simulation) return;
    ++simulated;
    simulated_us += weight * r.simulation->simulated_us;
  }
};

std::string why_no_claims(const StoredMultiFidelity& asked, const ValidationRatio& validation, std::size_t pending) {
  if (asked.chosen == StoredMultiFidelity::Stage::kNone) return "the points to simulate are not chosen yet";
  if (pending > 0) return fmt::format("{} points are not simulated yet", pending);
  if (validation.covers()) return {};
  constexpr int kNeeded = 9;  // (n - 1) / (n + 1) is 80 %
  return fmt::format(
      "{} simulated points of the validation sample enclose the ratio of another chip in {:.0f} % of all draws, and "
      "claims need "
      "{:.0f} %: a validation sample of {} or more",
      validation.n, 100 * validation.coverage_ratio, 100 * kCoverage, kNeeded);
}

std::vector<Difference> differences_of(const MultiFidelityResult& e) {
  const auto is_compared = [&](std::size_t i) {
    const Chosen c = e.points[i].chosen;
    return c == Chosen::kBase || c == Chosen::kFront;
  };
  std::vector<Difference> out;
  for (std::size_t a = 0; a < e.simulated.size(); ++a)
    for (std::size_t b = a + 1; b < e.simulated.size(); ++b) {
      const std::size_t i = e.simulated[a], j = e.simulated[b];
      if (!is_compared(i) && !is_compared(j)) continue;
      const JudgedPoint &p = e.points[i], &q = e.points[j];
      out.push_back({i, j, *q.predicted_us / *p.predicted_us, *q.simulated_us / *p.simulated_us,
                     e.no_claims.empty() && is_faster(e.intervals[i], e.intervals[j])});
    }
  return out;
}

void count_beaten(MultiFidelityResult& e) {
  for (std::size_t i = 0; i < e.points.size(); ++i) {
    const JudgedPoint& p = e.points[i];
    if (p.is_base || p.simulated_us || !p.predicted_us || p.same_as != i) continue;
    ++e.predicted_alone;
    const bool beaten = std::any_of(e.simulated.begin(), e.simulated.end(), [&](std::size_t s) {
      return e.points[s].cost.value_or(0) <= p.cost.value_or(0) && is_faster(e.intervals[s], e.intervals[i]);
    });
    e.beaten += beaten && e.no_claims.empty() ? 1 : 0;
  }
}

}  // namespace

std::vector<JudgedPoint> judged_points(const Store& store, const StoredSweep& sweep) {
  std::vector<JudgedPoint> out;
  std::vector<Sums> sums;
  std::vector<std::string> programs;
  const std::vector<StoredPoint> points = store.points(sweep);
  const std::vector<PointTotal> totals = store.totals(sweep);
  for (std::size_t i = 0; i < points.size(); ++i) {
    JudgedPoint& p = out.emplace_back();
    p.ordinal = points[i].ordinal;
    p.name = key_of(points[i]);
    p.same_as = i;
    p.is_base = points[i].is_base;
    p.cost = points[i].cost;
    p.chosen = points[i].chosen;
    p.pending = totals[i].simulated < totals[i].to_simulate;
  }
  sums.resize(points.size());
  programs.resize(points.size());
  const auto index_of = [&](const StoredPoint& p) {
    const auto before = [](const StoredPoint& q, std::size_t ordinal) { return q.ordinal < ordinal; };
    return static_cast<std::size_t>(std::lower_bound(points.begin(), points.end(), p.ordinal, before) - points.begin());
  };
  store.each_row(sweep, [&](const StoredPoint& p, const StoredWorkload& w, const StoredRow* r) {
    if (r == nullptr) return;
    const std::size_t i = index_of(p);
    sums[i].add(w.weight, *r);
    programs[i] += r->program + " ";
  });
  std::map<std::pair<std::string, std::string>, std::size_t> first;  // by chip and programs
  const std::size_t operators = sweep.workloads.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Sums& s = sums[i];
    if (operators == 0 || s.predicted < operators) continue;
    out[i].predicted_us = s.predicted_us;
    out[i].same_as = first.try_emplace({points[i].chip, programs[i]}, i).first->second;
    if (s.simulated == operators && s.failed == 0) out[i].simulated_us = s.simulated_us;
    if (s.banded == operators && s.predicted_us > 0)
      out[i].band = {s.low_us / s.predicted_us, s.high_us / s.predicted_us};
  }
  if (sweep.objectives) {
    const std::vector<Judgement> judgements = judgements_of(store, sweep);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].feasible = judgements[i].violation() == 0.0;
      out[i].on_front = judgements[i].on_front;
    }
  }
  return out;
}

void set_ranges(const Store& store, const StoredSweep& sweep, std::vector<JudgedPoint>& points) {
  if (!sweep.objectives) return;
  std::vector<TimeRatios> ratios;
  const auto intervals = intervals_of(points, validation_ratio(points));
  for (std::size_t i = 0; i < points.size(); ++i) {
    TimeRatios& ratio = ratios.emplace_back();
    if (intervals[i])
      ratio = {intervals[i]->low_us / *points[i].predicted_us, intervals[i]->high_us / *points[i].predicted_us};
  }
  auto ranges = objective_ranges(store, sweep, ratios);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].range = std::move(ranges[i]);
}

MultiFidelityResult multi_fidelity_result(const StoredMultiFidelity& asked, std::vector<JudgedPoint> points) {
  MultiFidelityResult out;
  out.asked = asked;
  out.points = std::move(points);
  out.validation = validation_ratio(out.points);
  out.intervals = intervals_of(out.points, out.validation);
  std::size_t pending = 0;
  std::set<std::size_t> seen;
  // A base that is a point of the grid too is listed as that point.
  for (const bool grid : {true, false})
    for (std::size_t i = 0; i < out.points.size(); ++i) {
      const JudgedPoint& p = out.points[i];
      if (p.chosen == Chosen::kNot || (p.chosen != Chosen::kBase) != grid) continue;
      if (!seen.insert(p.same_as).second) continue;
      pending += p.pending ? 1 : 0;
      if (p.simulated_us && p.predicted_us) out.simulated.push_back(i);
    }
  std::stable_sort(out.simulated.begin(), out.simulated.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(*out.points[a].simulated_us, a) < std::pair(*out.points[b].simulated_us, b);
  });
  out.no_claims = why_no_claims(asked, out.validation, pending);
  out.differences = differences_of(out);
  count_beaten(out);
  return out;
}

std::optional<MultiFidelityResult> multi_fidelity_result(const Store& store, const StoredSweep& sweep) {
  if (!sweep.multi_fidelity) return std::nullopt;
  return multi_fidelity_result(*sweep.multi_fidelity, judged_points(store, sweep));
}

std::size_t count_of(const MultiFidelityResult& e, Chosen reason) {
  std::set<std::size_t> chips;
  for (const JudgedPoint& p : e.points)
    if (p.chosen == reason) chips.insert(p.same_as);
  return chips.size();
}

namespace {

Map chosen_of(const MultiFidelityResult& e) {
  Map out;
  for (const Chosen c : {Chosen::kBase, Chosen::kFront, Chosen::kNeighbour, Chosen::kValidation})
    out.push_back({std::string(name_of(c)), count_of(e, c)});
  return out;
}

Map ratio_of(const ValidationRatio& c) {
  const auto known = [&](double v) { return c.n == 0 ? Value() : Value(v); };
  return {{"n", c.n},
          {"population", c.population},
          {"median_ratio", known(c.median)},
          {"least_ratio", known(c.least)},
          {"most_ratio", known(c.most)},
          {"low_ratio", c.band ? Value(c.band->low) : Value()},
          {"high_ratio", c.band ? Value(c.band->high) : Value()},
          {"coverage_ratio", c.band ? Value(c.coverage_ratio) : Value()}};
}

Map simulated_of(const MultiFidelityResult& e, std::size_t i) {
  const JudgedPoint& p = e.points[i];
  const auto& interval = e.intervals[i];
  return {{"point", p.ordinal},
          {"chosen", name_of(p.chosen)},
          {"cost", p.cost},
          {"predicted_us", p.predicted_us},
          {"simulated_us", p.simulated_us},
          {"low_us", interval ? Value(interval->low_us) : Value()},
          {"high_us", interval ? Value(interval->high_us) : Value()}};
}

Map difference_of(const MultiFidelityResult& e, const Difference& d) {
  const std::size_t first = e.points[d.first].ordinal, second = e.points[d.second].ordinal;
  return {{"points", List{first, second}},
          {"predicted_ratio", d.predicted_ratio},
          {"simulated_ratio", d.simulated_ratio},
          {"faster", d.beyond ? Value(first) : Value()}};
}

}  // namespace

Value to_document(const MultiFidelityResult& e) {
  List simulated, differences;
  for (const std::size_t i : e.simulated) simulated.emplace_back(simulated_of(e, i));
  for (const Difference& d : e.differences) differences.emplace_back(difference_of(e, d));
  return Map{{"mode", e.asked.mode},
             {"front", e.asked.front},
             {"validation_sample", e.asked.validation_sample},
             {"neighbours", e.asked.neighbours},
             {"seed", e.asked.seed},
             {"cost", base::unless_empty(e.asked.cost)},
             {"chosen", chosen_of(e)},
             {"ratio", ratio_of(e.validation)},
             {"simulated", std::move(simulated)},
             {"differences", std::move(differences)},
             {"not_simulated", Map{{"points", e.predicted_alone}, {"slower_beyond_band", e.beaten}}},
             {"no_claims", base::unless_empty(e.no_claims)}};
}

}  // namespace tilescope::experiments

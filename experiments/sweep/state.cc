// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/state.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "experiments/store/merge.h"

namespace tilescope::experiments {
namespace {

constexpr std::size_t kShownOfFront = 20;

base::Value to_document(const RankedPoint& p, const StoredSweep& sweep) {
  base::Map at;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) at.push_back({sweep.axes[a].name, p.point.at[a].text});
  return base::Map{{"point", p.point.ordinal},
                   {"base", p.point.base},
                   {"at", std::move(at)},
                   {"weighted_us", p.total.weighted_us},
                   {"base_ratio", p.total.base_ratio}};
}

base::List to_list(const std::vector<RankedPoint>& points, const StoredSweep& sweep) {
  base::List out;
  for (const RankedPoint& p : points) out.push_back(to_document(p, sweep));
  return out;
}

}  // namespace

bool SweepState::complete() const {
  if (sweep.shards && !sweep.shards->own && !sweep.shards->missing().empty()) return false;
  if (sweep.shards && sweep.shards->own) return rows_done == rows;  // the choice is made where shards are merged
  return rows_done == rows && (!sweep.plan || sweep.plan->ended) &&
         (!multi_fidelity || multi_fidelity->asked.chosen == StoredMultiFidelity::Stage::kNeighbours);
}

SweepState state_of(const Store& store, const StoredSweep& sweep, std::size_t keep) {
  SweepState out;
  out.sweep = sweep;
  const std::vector<StoredPoint> points = store.points(sweep);
  const std::vector<PointTotal> totals = store.totals(sweep);
  std::map<std::string, std::size_t> refusals, failures;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointTotal& t = totals[i];
    out.rows += points[i].has_rows() ? sweep.workloads.size() : 0;
    out.rows += t.to_simulate;
    out.rows_done += t.done + t.simulated;
    out.rows_failed += t.failed + t.simulation_failed;
    if (points[i].is_base) {
      out.bases.push_back({points[i], t});
      continue;
    }
    ++out.points;
    out.refused += points[i].refused.empty() ? 0 : 1;
    const bool done = !points[i].pruned.empty() || (t.done == sweep.workloads.size() && t.simulated == t.to_simulate);
    out.done += points[i].refused.empty() && done ? 1 : 0;
    out.failed += t.failed + t.simulation_failed > 0 ? 1 : 0;
    if (!points[i].refused.empty()) ++refusals[points[i].refused];
  }
  if (out.rows_failed > 0)
    store.each_row(sweep, [&](const StoredPoint&, const StoredWorkload& w, const StoredRow* r) {
      if (r != nullptr && !r->error.empty()) ++failures[w.name + ": " + r->error];
      if (r != nullptr && !r->simulation_error.empty()) ++failures[w.name + ": " + r->simulation_error];
    });
  out.multi_fidelity = multi_fidelity_result(store, sweep);
  if (out.multi_fidelity) out.places = points;
  out.refusals = most_often_first(refusals);
  out.failures = most_often_first(failures);
  out.front = sweep_front(store, sweep, kShownOfFront);
  const auto is_feasible = [&](std::size_t i) { return !out.front || out.front->judgements[i].violation() == 0.0; };
  for (const std::size_t i : best_points(points, totals))
    if (out.best.size() < keep && is_feasible(i)) out.best.push_back({points[i], totals[i]});
  return out;
}

base::Value to_document(const SweepState& s) {
  base::Map out = {
      {"sweep", s.sweep.title},
      {"file", s.sweep.file},
      {"evaluator", s.sweep.evaluator},
      {"points", base::Map{{"all", s.points}, {"done", s.done}, {"refused", s.refused}, {"failed", s.failed}}},
      {"rows", base::Map{{"all", s.rows}, {"done", s.rows_done}, {"failed", s.rows_failed}}},
      {"bases", to_list(s.bases, s.sweep)},
      {"best", to_list(s.best, s.sweep)},
      {"refused", to_list(s.refusals)},
      {"failed", to_list(s.failures)}};
  if (s.multi_fidelity) out.push_back({"multi_fidelity", to_document(*s.multi_fidelity)});
  if (s.front) out.push_back({"objectives", to_document(*s.front, s.sweep)});
  if (s.sweep.plan)
    out.push_back(
        {"plan",
         base::Map{{"plan", s.sweep.plan->text}, {"points", s.sweep.plan->points}, {"ended", s.sweep.plan->ended}}});
  if (s.sweep.shards) out.push_back({"shards", to_document(*s.sweep.shards)});
  return out;
}

std::string place_of(const std::vector<StoredValue>& at, const std::vector<StoredAxis>& axes) {
  std::string out;
  for (std::size_t a = 0; a < at.size(); ++a)
    if (!at[a].text.empty()) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axes[a].name, at[a].text);
  return out.empty() ? "the base" : out;
}

std::string place_of(const StoredPoint& point, const std::vector<StoredAxis>& axes) { return place_of(point.at, axes); }

}  // namespace tilescope::experiments

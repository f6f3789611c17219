// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/front.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "experiments/objectives/stored.h"

namespace tilescope::experiments {
namespace {

using base::List;
using base::Map;
using base::Value;

ObjectivesAtPoint at_point(const StoredPoint& point, const Judgement& judgement,
                           const std::vector<ShownObjective>& objectives) {
  ObjectivesAtPoint out{point, {}, judgement.violation()};
  for (std::size_t o = 0; o < objectives.size(); ++o) {
    const auto& value = judgement.values[o];
    out.values.push_back(value ? std::optional(*value * objectives[o].factor) : std::nullopt);
  }
  return out;
}

Value to_document(const ObjectivesAtPoint& p, const StoredSweep& sweep, const std::vector<ShownObjective>& objectives) {
  Map at, values;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    at.push_back({sweep.axes[a].name, base::unless_empty(p.point.at[a].text)});
  for (std::size_t o = 0; o < objectives.size(); ++o) values.push_back({objectives[o].column, p.values[o]});
  return Map{{"point", p.point.ordinal},
             {"base", p.point.base},
             {"at", std::move(at)},
             {"values", std::move(values)},
             {"violation_ratio", p.violation}};
}

}  // namespace

Counts most_often_first(const std::map<std::string, std::size_t>& counts) {
  Counts out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

List to_list(const Counts& counts) {
  List out;
  for (const auto& [why, n] : counts) out.emplace_back(Map{{"why", why}, {"count", n}});
  return out;
}

std::optional<SweepFront> sweep_front(const Store& store, const StoredSweep& sweep, std::size_t keep) {
  if (!sweep.objectives) return std::nullopt;
  SweepFront out;
  for (const StoredObjective& o : sweep.objectives->objectives) {
    out.objectives.push_back(shown(o));
    out.most.push_back(o.most);
  }
  out.has_constraints = !sweep.objectives->constraints.empty();
  const Objectives objectives(*sweep.objectives, sweep.workloads);
  const std::vector<StoredPoint> points = store.points(sweep);
  out.judgements = judgements_of(store, sweep);
  const std::vector<Judgement>& judgements = out.judgements;
  std::map<std::string, std::size_t> lacking;
  std::vector<std::size_t> front;
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Judgement& j = judgements[i];
    if (points[i].is_base || !points[i].refused.empty()) continue;
    if (!j.lacks.empty()) ++lacking[fmt::format("{}: {}", points[i].base, j.lacks)];
    if (j.on_front) front.push_back(i);
    const auto violation = j.violation();
    ++(!violation ? out.unknown : *violation > 0 ? out.infeasible : out.feasible);
    out.pruned += points[i].pruned.empty() ? 0 : 1;
    if (violation && *violation > 0 && (!nearest || *violation < *judgements[*nearest].violation())) nearest = i;
  }
  out.size = front.size();
  // The better of two values of an objective is the lesser of these.
  const auto value = [&](std::size_t i, std::size_t o) {
    return out.most[o] ? -*judgements[i].values[o] : *judgements[i].values[o];
  };
  const auto add = [&](std::vector<ObjectivesAtPoint>& to, std::size_t i) {
    to.push_back(at_point(points[i], judgements[i], out.objectives));
  };
  for (std::size_t o = 0; o < out.objectives.size() && !front.empty(); ++o)
    add(out.best, *std::min_element(front.begin(), front.end(),
                                    [&](std::size_t a, std::size_t b) { return value(a, o) < value(b, o); }));
  std::stable_sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) { return value(a, 0) < value(b, 0); });
  for (std::size_t i = 0; i < std::min(keep, front.size()); ++i) add(out.points, front[i]);
  if (nearest && out.feasible == 0) {
    out.nearest = at_point(points[*nearest], judgements[*nearest], out.objectives);
    out.nearest_misses = objectives.worst_of(judgements[*nearest]);
  }
  out.lacking = most_often_first(lacking);
  return out;
}

Value to_document(const SweepFront& f, const StoredSweep& sweep) {
  List objectives, front, best;
  for (std::size_t o = 0; o < f.objectives.size(); ++o)
    objectives.emplace_back(Map{{"name", f.objectives[o].name},
                                {"column", f.objectives[o].column},
                                {"unit", base::unless_empty(f.objectives[o].unit)},
                                {"goal", f.most[o] ? "max" : "min"}});
  for (const ObjectivesAtPoint& p : f.points) front.emplace_back(to_document(p, sweep, f.objectives));
  for (const ObjectivesAtPoint& p : f.best) best.emplace_back(to_document(p, sweep, f.objectives));
  return Map{{"objectives", std::move(objectives)},
             {"points", Map{{"feasible", f.feasible},
                            {"infeasible", f.infeasible},
                            {"pruned", f.pruned},
                            {"unknown", f.unknown},
                            {"on_front", f.size}}},
             {"front", std::move(front)},
             {"best", std::move(best)},
             {"nearest", f.nearest ? to_document(*f.nearest, sweep, f.objectives) : Value()},
             {"nearest_misses", base::unless_empty(f.nearest_misses)},
             {"lacking", to_list(f.lacking)}};
}

}  // namespace tilescope::experiments

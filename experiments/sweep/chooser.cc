// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/chooser.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "experiments/multi_fidelity/choice.h"
#include "experiments/objectives/stored.h"

namespace tilescope::experiments {
namespace {

std::unique_ptr<Plan> plan_of(const PointChoice& choice, const DesignSpace& space) {
  if (choice.by == PointChoice::By::kRefine) return refine(space);
  if (choice.by == PointChoice::By::kListed) return listed(choice.listed);
  return nsga2(space, choice.nsga2);
}

}  // namespace

DesignSpace space_of(const SweepSpec& spec, const SweepPlan& plan) {
  DesignSpace out;
  const auto add_axis = [&](std::size_t values, bool ordered) {
    out.sizes.push_back(values);
    out.ordered.push_back(ordered);
  };
  add_axis(spec.bases.size(), false);
  for (const SweepAxis& a : spec.axes) {
    if (a.equals) continue;
    // Numbers that rise or fall; tied paths go by the first one.
    const auto number = [](const std::vector<StoredValue>& v) { return v.front().number; };
    const bool numbers = std::all_of(a.values.begin(), a.values.end(), [&](const auto& v) { return number(v); });
    const auto before = [&](const auto& v, const auto& w) { return *number(v) < *number(w); };
    const bool ordered = numbers && (std::is_sorted(a.values.begin(), a.values.end(), before) ||
                                     std::is_sorted(a.values.rbegin(), a.values.rend(), before));
    add_axis(a.values.size(), ordered);
  }
  add_axis(spec.programs.size(), false);
  for (const PlannedPoint& p : plan.points) {
    if (p.point.is_base) continue;
    out.designs.push_back(p.index);
    out.designs.back().push_back(p.programs.value());
  }
  return out;
}

PointChooser::PointChooser(const SweepSpec& spec, const SweepPlan& plan, std::string path)
    : spec_(spec), path_(std::move(path)) {
  if (!spec.choice.is_planned()) return;
  space_ = space_of(spec, plan);
  plan_ = plan_of(spec.choice, space_);
}

std::vector<std::size_t> PointChooser::next() {
  previous_ = plan_->next(merits());
  for (std::size_t& p : previous_) p += spec_.bases.size();  // the points begin with the bases
  return previous_;
}

std::vector<Merit> PointChooser::merits() const {
  std::vector<Merit> out;
  if (previous_.empty()) return out;
  const auto [store, sweep] = stored();
  const Objectives objectives(*sweep.objectives, sweep.workloads);
  const std::vector<StoredPoint> points = store.points(sweep);
  const std::vector<Judgement> judgements = judgements_of(store, sweep);
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) places[points[i].ordinal] = i;
  for (const std::size_t ordinal : previous_) {
    const std::size_t i = places.at(ordinal);
    out.push_back(points[i].refused.empty() ? objectives.merit_of(judgements[i]) : no_merit());
  }
  return out;
}

PointChooser::Simulated PointChooser::simulated(const StoredMultiFidelity& stage) const {
  const auto [store, sweep] = stored();
  Simulated out{judged_points(store, sweep), {}};
  if (stage.chosen == StoredMultiFidelity::Stage::kNeighbours) set_ranges(store, sweep, out.points);
  out.chosen = chosen_at(stage, out.points);
  return out;
}

// What is committed of the sweep.
std::pair<Store, StoredSweep> PointChooser::stored() const {
  base::Diagnostics own;
  auto store = Store::open(path_, own);
  base::check(store.has_value(), "a store that is written is read");
  auto sweep = store->sweep(spec_.title);
  if (!sweep) throw StoreError(path_ + ": the sweep that was put is not there any more");
  return {std::move(*store), std::move(*sweep)};
}

}  // namespace tilescope::experiments

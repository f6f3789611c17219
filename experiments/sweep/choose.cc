// SPDX-License-Identifier: Apache-2.0
// The points that a sweep chooses while it runs: those of its plan, and those that the simulator judges too. Every
// choice is made from what the store holds, so that a sweep that is run again makes the same ones.

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "experiments/explore/plan.h"
#include "experiments/multi_fidelity/choice.h"
#include "experiments/objectives/stored.h"
#include "experiments/sweep/detail/runner.h"
#include "experiments/sweep/detail/space.h"

namespace tilescope::experiments {
namespace {

std::unique_ptr<Plan> plan_of(const PointChoice& choice, const DesignSpace& space) {
  if (choice.by == PointChoice::By::kRefine) return refine(space);
  if (choice.by == PointChoice::By::kListed) return listed(choice.listed);
  return nsga2(space, choice.nsga2);
}

}  // namespace

void SweepRunner::follow_plan(int jobs, const Stop& stopped) {
  const DesignSpace space = space_of(spec_, plan_);
  const std::unique_ptr<Plan> plan = plan_of(spec_.choice, space);
  std::vector<Merit> merits;
  while (!stopped() && progress_.done == progress_.all) {
    std::vector<std::size_t> chosen = plan->next(merits);
    if (chosen.empty()) {
      tasks_.end_plan();
      chosen_ = true;
      return;
    }
    for (std::size_t& c : chosen) c += spec_.bases.size();  // the points begin with the bases
    if (!read_chips(spec_, plan_, chosen, {{}, jobs, stopped}) || !tasks_.add(chosen, stopped)) return;
    find_work();
    work_all(jobs, stopped);
    if (!stopped() && progress_.done == progress_.all) merits = merits_of(chosen);
  }
}

std::vector<Merit> SweepRunner::merits_of(const std::vector<std::size_t>& ordinals) const {
  const auto [store, sweep] = stored();
  const Objectives objectives(*sweep.objectives, sweep.workloads);
  const std::vector<StoredPoint> points = store.points(sweep);
  const std::vector<Judgement> judgements = judgements_of(store, sweep);
  std::map<std::size_t, std::size_t> places;
  for (std::size_t i = 0; i < points.size(); ++i) places[points[i].ordinal] = i;
  std::vector<Merit> out;
  for (const std::size_t ordinal : ordinals) {
    const std::size_t i = places.at(ordinal);
    const bool judged = points[i].refused.empty();
    out.push_back(judged ? objectives.merit_of(judgements[i]) : no_merit());
  }
  return out;
}

// The points that the simulator judges: chosen from what the store holds, simulated and kept, and the neighbours only
// after the validation sample, which says how wide the band is.
void SweepRunner::escalate(int jobs, const Stop& stopped) {
  using Stage = StoredMultiFidelity::Stage;
  StoredMultiFidelity state = spec_.multi_fidelity->asked;
  for (const Stage stage : {Stage::kFrontAndValidation, Stage::kNeighbours}) {
    if (stopped() || progress_.done < progress_.all) return;
    state.chosen = stage;
    work(choose(state), jobs, stopped);
    store_.commit();
  }
  escalated_ = true;
}

// Puts the stage's choice into the store; what of it is not simulated yet.
std::vector<Unit> SweepRunner::choose(const StoredMultiFidelity& state) {
  const auto [store, sweep] = stored();
  std::vector<JudgedPoint> points = judged_points(store, sweep);
  if (state.chosen == StoredMultiFidelity::Stage::kNeighbours) set_ranges(store, sweep, points);
  std::map<std::size_t, std::size_t> simulations;  // tasks, by the first of the points that they are of
  std::map<std::size_t, Chosen> reasons;
  for (const auto& [i, reason] : chosen_at(state, points)) {
    const std::size_t first = points[i].same_as;
    if (!simulations.contains(first))
      simulations[first] = tasks_.add_simulation(tasks_.of_point(points[first].ordinal).value());
    reasons[i] = reason;
  }
  std::vector<ChosenPoint> chosen;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto simulation = simulations.find(points[i].same_as);
    if (simulation == simulations.end()) continue;
    const auto reason = reasons.find(i);
    chosen.push_back({points[i].ordinal, reason == reasons.end() ? Chosen::kNot : reason->second,
                      tasks_[simulation->second].request});
  }
  store_.choose(sweep_, state, chosen);
  std::vector<Unit> out;
  for (const auto& [first, task] : simulations)
    for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
      ++progress_.all;
      ++progress_.simulations_all;
      if (const auto known = store_.find(tasks_.key_of({task, w}))) {
        ++progress_.known;
        ++progress_.simulations_known;
        count({task, w}, known->time_us);
      } else {
        out.push_back({task, w});
      }
    }
  tell_(progress_);
  return out;
}

// What is committed of the sweep.
std::pair<Store, StoredSweep> SweepRunner::stored() const {
  base::Diagnostics own;
  auto store = Store::open(store_.path(), own);
  base::check(store.has_value(), "a store that is written is read");
  for (StoredSweep& s : store->sweeps())
    if (s.id == sweep_) return {std::move(*store), std::move(s)};
  throw StoreError(store_.path() + ": the sweep that was put is not there any more");
}

}  // namespace tilescope::experiments

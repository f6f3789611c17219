// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/runner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace tilescope::experiments {

SweepRunner::SweepRunner(const SweepSpec& spec, SweepPlan& plan, const FilePrograms& of_files, StoreWriter& store,
                         std::size_t pool_bytes, const std::function<void(const SweepProgress&)>& tell)
    : spec_(spec),
      plan_(plan),
      of_files_(of_files),
      store_(store),
      tell_(tell),
      tasks_(spec, plan, store, pool_bytes),
      times_(spec.workloads.size()) {}

bool SweepRunner::prepare(const std::optional<Shard>& shard, const Stop& stop) {
  is_shard_ = shard.has_value();
  const auto put = tasks_.put(shard, stop);
  if (!put) return false;
  sweep_ = *put;
  // Every point that is chosen later takes what is found for the bases too: it is kept.
  for (std::size_t b = 0; b < spec_.bases.size() && is_planned(); ++b)
    if (const auto task = tasks_.of_point(b); task && tasks_[*task].search)
      for (const SweepWorkload& w : spec_.workloads) tasks_.searches().expect(*tasks_[*task].search, w.searched_as);
  find_work();
  return true;
}

void SweepRunner::run(int jobs, const Stop& stop, std::function<void()> overdue) {
  stop_ = stop;
  overdue_ = std::move(overdue);
  const Stop stopped = [&] { return broken_ || stop(); };
  work_all(jobs, stopped);
  if (is_planned()) follow_plan(jobs, stopped);
  if (is_multi_fidelity() && !stopped()) escalate(jobs, stopped);
  if (complete()) store_.complete(sweep_);
}

bool SweepRunner::complete() const {
  return progress_.done == progress_.all && (!is_planned() || chosen_) && (!is_multi_fidelity() || escalated_);
}

// The rows of all tasks that were looked for and not found.
void SweepRunner::work_all(int jobs, const Stop& stopped) {
  work(of_references_, jobs, stopped);
  if (!stopped()) read_references();
  if (!stopped()) work(others_, jobs, stopped);
  store_.commit();
}

// What is to be done for the tasks that are new.
void SweepRunner::find_work() {
  of_references_.clear();
  others_.clear();
  for (; found_ < tasks_.all().size(); ++found_) {
    const std::size_t t = found_;
    std::vector<std::size_t> missing;
    for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
      ++progress_.all;
      if (const auto known = store_.find(tasks_.key_of({t, w}))) {
        ++progress_.known;
        count({t, w}, known->time_us);
      } else {
        (tasks_[t].is_reference ? of_references_ : others_).push_back({t, w});
        if (!tasks_[t].simulate) ++times_[w].left;
        missing.push_back(w);
      }
    }
    if (!tasks_[t].search || missing.empty()) continue;
    // A row of a sequence is made with those of all operators, whichever of them are there, and equal ones at once.
    for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
      const std::size_t searched = spec_.workloads[w].searched_as;
      if (spec_.sequence ? searched != w : std::find(missing.begin(), missing.end(), w) == missing.end()) continue;
      tasks_.searches().expect(*tasks_[t].search, searched);
      for (const std::size_t search : tasks_[t].beside) tasks_.searches().expect(search, searched);
    }
  }
  progress_.points_all =
      static_cast<std::size_t>(std::count_if(plan_.points.begin(), plan_.points.end(), [](const PlannedPoint& p) {
        return p.asked && p.chip && p.point.pruned.empty() && !p.point.is_base;
      }));
  progress_.points_all = std::max(progress_.points_all, spec_.choice.nsga2.evaluations);
  if (!is_planned()) progress_.points_known = progress_.points_done;
  tell_(progress_);
}

// The programs that references were found to have, from the store.
void SweepRunner::read_references() {
  for (std::size_t t = 0; t < tasks_.all().size(); ++t) {
    if (!tasks_[t].is_reference || of_references_programs_.contains(t)) continue;
    std::vector<GivenForWorkload>& given = of_references_programs_[t];
    for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
      GivenForWorkload& g = given.emplace_back();
      g.program = stored_program({t, w});
      if (!g.program) g.why = fmt::format("{} has no program of its own for it", spec_.bases[tasks_[t].base].name);
    }
  }
}

void SweepRunner::count(Unit u, std::optional<double> time_us) {
  Task& t = tasks_[u.task];
  ++progress_.done;
  if (t.judges) {
    ++progress_.simulations_done;
    return;
  }
  t.failed = t.failed || !time_us;
  t.weighted_us += spec_.workloads[u.workload].weight * time_us.value_or(0);
  if (--t.left > 0) return;
  for (const std::size_t p : t.points) {
    if (plan_.points[p].point.is_base) continue;
    ++progress_.points_done;
    // Whether it meets the constraints is known where all its results are.
    if (t.failed || t.weighted_us >= best_us_ || (spec_.objectives && !spec_.objectives->asked.constraints.empty()))
      continue;
    best_us_ = t.weighted_us;
    describe_best(t, plan_.points[p].point);
  }
}

void SweepRunner::describe_best(const Task& t, const StoredPoint& p) {
  const auto base = base_task(t.base);
  const bool known = base != nullptr && base->left == 0 && !base->failed;
  progress_.best = fmt::format(
      "{}{}", known ? fmt::format("{:.3f} of {} at ", t.weighted_us / base->weighted_us, p.base) : std::string(),
      experiments::place_of(p, plan_.axes));
}

const Task* SweepRunner::base_task(std::size_t base) const {
  for (const Task& t : tasks_.all())
    for (const std::size_t p : t.points)
      if (plan_.points[p].point.is_base && plan_.points[p].base == base) return &t;
  return nullptr;
}

}  // namespace tilescope::experiments

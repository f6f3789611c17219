// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/tasks.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/simulate/evaluate.h"
#include "base/hash.h"
#include "experiments/sweep/detail/task.h"

namespace tilescope::experiments {

SweepTasks::SweepTasks(const SweepSpec& spec, const SweepPlan& plan, StoreWriter& store, std::size_t pool_bytes)
    : spec_(spec), plan_(plan), store_(store), searches_(spec.workloads, pool_bytes), sequence_hash_(sequence_hash()) {
  for (const PlannedPoint& p : plan.points)
    if (p.chip && is_constructed(p) && !p.point.is_base) grid_.emplace(p.index, &p);
}

std::optional<std::int64_t> SweepTasks::put(const std::optional<Shard>& shard, const std::function<bool()>& stop) {
  // A shard keeps the chips of its own points and the bases; those beside are searched for, and have no rows.
  std::vector<bool> kept(plan_.chips.size(), !shard);
  std::fill_n(kept.begin(), spec_.bases.size(), true);
  for (const PlannedPoint& p : plan_.points)
    if (p.asked && p.chip) kept[*p.chip] = true;
  for (std::size_t c = 0; c < plan_.chips.size(); ++c) {
    if (stop()) return std::nullopt;
    const arch::ArchSpec& chip = *plan_.chips[c];
    const std::string identity = identity_of(chip);
    chip_hashes_.push_back(base::content_hash(identity));
    hash_of_chip_[&chip] = chip_hashes_.back();
    chip_ids_.push_back(kept[c] ? store_.chip(identity, chip.name, arch::to_document(chip)) : Content{});
  }
  std::vector<NewWorkload> workloads;
  for (const SweepWorkload& w : spec_.workloads) {
    workload_ids_.push_back(store_.workload(w.document));
    workloads.push_back({w.name, w.kind, w.weight, workload_ids_.back()});
  }
  std::vector<NewPoint> points;
  for (const PlannedPoint& p : plan_.points) {
    if (stop()) return std::nullopt;
    if (p.asked)
      points.push_back(add_point(p));
    else
      of_points_.emplace_back();
  }
  const auto multi_fidelity = spec_.multi_fidelity ? std::optional(spec_.multi_fidelity->asked) : std::nullopt;
  const char* evaluator = multi_fidelity ? "multi-fidelity" : spec_.simulate ? "sim" : "model";
  StoredSweep sweep{0, spec_.title, spec_.file, spec_.text, evaluator, plan_.axes, {}, multi_fidelity};
  const std::string plan = plan_hash();
  if (shard) sweep.shards = StoredShards{shard->count, plan_.points.size(), plan, true, {shard->index}, {}};
  return store_.put_sweep(sweep, points, workloads, plan);
}

std::string SweepTasks::plan_hash() const {
  std::string all = fmt::format("{}\n{} points\n{}", spec_.text, plan_.points.size(), sequence_hash_);
  for (std::size_t b = 0; b < spec_.bases.size(); ++b) all += "\n" + chip_hashes_[b];
  for (const SweepWorkload& w : spec_.workloads)
    all += fmt::format("\n{} {} {} {}", w.name, w.kind, w.weight, base::to_json(w.document));
  for (const SweepPrograms& p : spec_.programs)
    if (p.file) all += "\n" + base::content_hash(p.file->text);
  return base::content_hash(all);
}

std::string SweepTasks::sequence_hash() const {
  if (!spec_.sequence) return {};
  base::List operators;
  for (const SweepWorkload& w : spec_.workloads) {
    base::Map inputs;
    for (const auto& [tensor, array] : spec_.tensors.shared(w.in_sequence)) inputs.push_back({tensor, array});
    operators.push_back(base::Map{{"operator", w.document}, {"inputs", std::move(inputs)}});
  }
  return base::content_hash(base::to_json(operators));
}

NewPoint SweepTasks::add_point(const PlannedPoint& p) {
  NewPoint out;
  out.point = p.point;
  out.base_ordinal = p.base;
  of_points_.emplace_back();
  if (!p.chip) return out;
  Task t;
  t.chip = plan_.chips[*p.chip].get();
  t.chip_id = chip_ids_[*p.chip];
  t.programs = p.programs ? &spec_.programs[*p.programs] : nullptr;
  t.restrictions = p.restrictions;
  t.base = p.base;
  t.simulate = spec_.simulate;
  if (is_constructed(p)) {
    t.simulated_first = spec_.simulated_first;
    search_for(t, p);
  }
  if (t.programs != nullptr && t.programs->from == SweepPrograms::From::kBase) t.reference = add_reference(p);
  const std::size_t task = add_task(std::move(t));
  tasks_[task].points.push_back(p.point.ordinal);
  of_points_.back() = task;
  out.chip = tasks_[task].chip_id;
  out.request = tasks_[task].request;
  return out;
}

// The base's own programs under the same restrictions.
std::size_t SweepTasks::add_reference(const PlannedPoint& p) {
  Task t;
  t.chip = plan_.chips[p.base].get();
  t.chip_id = chip_ids_[p.base];
  t.restrictions = p.restrictions;
  t.base = p.base;
  PlannedPoint base;
  base.chip = base.base = p.base;
  base.point.is_base = true;
  base.restrictions = p.restrictions;
  search_for(t, base);
  const std::size_t task = add_task(std::move(t));
  tasks_[task].is_reference = true;
  return task;
}

bool SweepTasks::is_constructed(const PlannedPoint& p) const {
  return !p.programs || spec_.programs[*p.programs].from == SweepPrograms::From::kConstruct;
}

// The task's own search and those beside it, under the same restrictions: its base's, and those of its neighbours,
// one value away along one axis. A base as it is has the neighbours of the point that is the same chip.
void SweepTasks::search_for(Task& t, const PlannedPoint& p) {
  const bool simulator_ranks = t.simulated_first > 0;
  t.search = searches_.add(*t.chip, t.restrictions, simulator_ranks ? api::kListedForSimulator : kSearched);
  if (simulator_ranks) return;  // it has enough to rank
  const PlannedPoint* at = &p;
  if (p.point.is_base) {
    const auto same_chip = std::find_if(grid_.begin(), grid_.end(), [&](const auto& g) {
      return g.second->chip == p.chip && restrict_alike(g.second->restrictions, p.restrictions);
    });
    if (same_chip == grid_.end()) return;
    at = same_chip->second;
  }
  const auto add = [&](const arch::ArchSpec& chip) {
    const std::size_t search = searches_.add(chip, t.restrictions);
    if (search != *t.search && std::find(t.beside.begin(), t.beside.end(), search) == t.beside.end())
      t.beside.push_back(search);
  };
  add(*plan_.chips[p.base]);
  for (std::size_t axis = 1; axis < at->index.size(); ++axis)
    for (const int step : {-1, 1}) {
      std::vector<std::size_t> index = at->index;
      index[axis] += static_cast<std::size_t>(step);  // below the first value: no point has that index
      const auto neighbour = grid_.find(index);
      if (neighbour != grid_.end() && restrict_alike(neighbour->second->restrictions, t.restrictions))
        add(*plan_.chips[*neighbour->second->chip]);
    }
}

std::size_t SweepTasks::add_task(Task t) {
  std::vector<std::string> beside;
  for (const std::size_t search : t.beside) beside.push_back(hash_of_chip_.at(&searches_.chip_of(search)));
  const api::SimulationMode mode = spec_.multi_fidelity ? spec_.multi_fidelity->mode : api::SimulationMode::kSampled;
  t.request = store_.request(request_document(t.programs, t.restrictions, chip_hashes_[t.base], std::move(beside),
                                              {t.simulate ? std::optional(mode) : std::nullopt, t.simulated_first},
                                              sequence_hash_));
  t.left = spec_.workloads.size();
  const auto [entry, fresh] = task_numbers_.emplace(std::pair(t.chip_id, t.request), tasks_.size());
  if (fresh) tasks_.push_back(std::move(t));
  return entry->second;
}

std::size_t SweepTasks::add_simulation(std::size_t task) {
  Task t = tasks_[task];
  t.judges = task;
  t.simulate = true;
  t.is_reference = t.failed = false;
  t.weighted_us = 0;
  return add_task(std::move(t));
}

}  // namespace tilescope::experiments

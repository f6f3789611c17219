// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/tasks.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/simulate/evaluate.h"
#include "base/hash.h"
#include "experiments/sweep/detail/task.h"
#include "tile/program_json.h"

namespace tilescope::experiments {

SweepTasks::SweepTasks(const SweepSpec& spec, const SweepPlan& plan, StoreWriter& store, std::size_t pool_bytes)
    : spec_(spec),
      plan_(plan),
      store_(store),
      searches_(spec.workloads, pool_bytes, spec.choice.is_planned()),
      sequence_hash_(sequence_hash()),
      grid_(constructed_points(spec, plan)),
      of_points_(plan.points.size()) {}

bool SweepTasks::put(const std::optional<Shard>& shard, const std::function<bool()>& stop) {
  if (!add_chips(stop)) return false;
  std::vector<NewWorkload> workloads;
  for (const SweepWorkload& w : spec_.workloads) {
    workload_ids_.push_back(store_.workload(w.document));
    workloads.push_back({w.name, w.kind, w.weight, workload_ids_.back()});
  }
  std::vector<std::size_t> asked;
  for (const PlannedPoint& p : plan_.points)
    if (p.asked) asked.push_back(p.point.ordinal);
  const auto points = add_points(asked, stop);
  if (!points) return false;
  const auto multi_fidelity = spec_.multi_fidelity ? std::optional(spec_.multi_fidelity->asked) : std::nullopt;
  const char* evaluator = multi_fidelity ? "multi-fidelity" : spec_.simulate ? "sim" : "model";
  StoredSweep sweep{0, spec_.title, spec_.file, spec_.text, evaluator, plan_.axes, {}, multi_fidelity};
  if (spec_.objectives) sweep.objectives = spec_.objectives->asked;
  sweep.plan = stored_plan(false);
  const std::string plan = plan_hash();
  if (shard) sweep.shards = StoredShards{shard->count, plan_.points.size(), plan, true, {shard->index}, {}};
  sweep_ = store_.put_sweep(sweep, *points, workloads, plan);
  // Every point that is chosen later takes what is found for the bases too: it is kept.
  for (std::size_t b = 0; b < spec_.bases.size() && spec_.choice.is_planned(); ++b)
    if (of_points_[b] && tasks_[*of_points_[b]].search)
      for (std::size_t w = 0; w < workloads.size(); ++w) searches_.expect(*tasks_[*of_points_[b]].search, w);
  return true;
}

bool SweepTasks::add(const std::vector<std::size_t>& points, const std::function<bool()>& stop) {
  if (!add_chips(stop)) return false;
  const auto added = add_points(points, stop);
  if (added) store_.add_points(sweep_, *added);
  return added.has_value();
}

void SweepTasks::end_plan() { store_.put_plan(sweep_, *stored_plan(true)); }

std::optional<StoredPlan> SweepTasks::stored_plan(bool ended) const {
  if (!spec_.choice.is_planned()) return std::nullopt;
  return StoredPlan{spec_.choice.text(), plan_.points.size() - spec_.bases.size(), ended};
}

// Those that were read meanwhile. A shard, or a plan, keeps the chips of its own points and the bases; those beside are
// searched for, and have no rows.
bool SweepTasks::add_chips(const std::function<bool()>& stop) {
  std::vector<bool> kept(plan_.chips.size());
  std::fill_n(kept.begin(), spec_.bases.size(), true);
  for (const PlannedPoint& p : plan_.points)
    if (p.asked && p.chip) kept[*p.chip] = true;
  chip_hashes_.resize(plan_.chips.size());
  chip_ids_.resize(plan_.chips.size());
  for (std::size_t c = 0; c < plan_.chips.size(); ++c) {
    if (stop()) return false;
    if (plan_.chips[c] == nullptr || (chip_ids_[c] && !chip_hashes_[c].empty())) continue;
    const arch::ArchSpec& chip = *plan_.chips[c];
    if (!chip_hashes_[c].empty() && !kept[c]) continue;
    const std::string identity = identity_of(chip);
    chip_hashes_[c] = base::content_hash(identity);
    hash_of_chip_[&chip] = chip_hashes_[c];
    if (kept[c]) chip_ids_[c] = store_.chip(identity, chip.name, arch::to_document(chip));
  }
  return true;
}

std::optional<std::vector<NewPoint>> SweepTasks::add_points(const std::vector<std::size_t>& ordinals,
                                                            const std::function<bool()>& stop) {
  std::vector<NewPoint> out;
  for (const std::size_t p : ordinals) {
    if (stop()) return std::nullopt;
    out.push_back(add_point(plan_.points[p]));
  }
  return out;
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
  if (!p.chip) return out;
  out.chip = chip_ids_[*p.chip].value();
  if (!p.point.pruned.empty()) return out;
  Task t;
  t.chip = plan_.chips[*p.chip].get();
  t.chip_id = *out.chip;
  t.programs = p.programs ? &spec_.programs[*p.programs] : nullptr;
  t.restrictions = p.restrictions;
  t.base = p.base;
  t.simulate = spec_.simulate;
  if (is_constructed(p, spec_)) {
    t.simulated_first = spec_.simulated_first;
    search_for(t, p);
  }
  if (t.programs != nullptr && t.programs->from == SweepPrograms::From::kBase) t.reference = add_reference(p);
  const std::size_t task = add_task(std::move(t));
  tasks_[task].points.push_back(p.point.ordinal);
  of_points_[p.point.ordinal] = task;
  out.request = tasks_[task].request;
  return out;
}

// The base's own programs under the same restrictions.
std::size_t SweepTasks::add_reference(const PlannedPoint& p) {
  Task t;
  t.chip = plan_.chips[p.base].get();
  t.chip_id = chip_ids_[p.base].value();
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
  for (const PlannedPoint* n : neighbours_of(*at, grid_))
    if (n->chip && restrict_alike(n->restrictions, t.restrictions)) add(*plan_.chips[*n->chip]);
}

std::size_t SweepTasks::add_task(Task t) {
  std::vector<std::string> beside;
  for (const std::size_t search : t.beside) beside.push_back(hash_of_chip_.at(&searches_.chip_of(search)));
  t.request = store_.request(request_document(
      t.programs, t.restrictions, chip_hashes_[t.base], std::move(beside),
      {t.simulate ? std::optional(spec_.simulation_mode()) : std::nullopt, t.simulated_first}, sequence_hash_));
  const auto [entry, fresh] = task_numbers_.emplace(std::pair(t.chip_id, t.request), tasks_.size());
  if (fresh) tasks_.push_back(std::move(t));
  return entry->second;
}

std::vector<std::size_t> SweepTasks::add_simulations(const StoredMultiFidelity& stage,
                                                     const std::vector<JudgedPoint>& points,
                                                     const std::vector<std::pair<std::size_t, Chosen>>& chosen) {
  std::map<std::size_t, std::size_t> simulations;  // tasks, by the first of the points that they are of
  std::map<std::size_t, Chosen> reasons;
  for (const auto& [i, reason] : chosen) {
    const std::size_t first = points[i].same_as;
    if (!simulations.contains(first)) simulations[first] = add_simulation(of_points_[points[first].ordinal].value());
    reasons[i] = reason;
  }
  std::vector<ChosenPoint> stored;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto simulation = simulations.find(points[i].same_as);
    if (simulation == simulations.end()) continue;
    const auto reason = reasons.find(i);
    stored.push_back({points[i].ordinal, reason == reasons.end() ? Chosen::kNot : reason->second,
                      tasks_[simulation->second].request});
  }
  store_.choose(sweep_, stage, stored);
  std::vector<std::size_t> out;
  for (const auto& [first, task] : simulations) out.push_back(task);
  return out;
}

// A row of a sequence is made with those of all operators, whichever of them are there, and equal ones at once.
void SweepTasks::expect_searches(const std::vector<Unit>& rows) {
  if (rows.empty() || !tasks_[rows.front().task].search) return;
  const Task& t = tasks_[rows.front().task];
  for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
    const bool alike = spec_.sequence && spec_.workloads[w].searched_as != w;
    const auto is_of = [&](const Unit& row) { return row.workload == w; };
    if (alike || (!spec_.sequence && std::none_of(rows.begin(), rows.end(), is_of))) continue;
    searches_.expect(*t.search, w);
    for (const std::size_t search : t.beside) searches_.expect(search, w);
  }
}

std::optional<tile::RProgram> SweepTasks::program_of(Unit u) const {
  const auto text = store_.program_of(key_of(u));
  if (!text) return std::nullopt;
  base::Diagnostics own;
  const Task& t = tasks_[u.task];
  const auto document = base::read_json(*text, own.add_source("program"), own);
  auto program = document ? tile::read_program(*document, *t.chip, own) : std::nullopt;
  if (!program)
    throw_damaged_content(store_.path(), fmt::format("the program of operator {} on {}",
                                                     spec_.workloads[u.workload].name, spec_.bases[t.base].name));
  return program;
}

std::size_t SweepTasks::add_simulation(std::size_t task) {
  Task t = tasks_[task];
  t.judges = task;
  t.simulate = true;
  t.is_reference = false;
  return add_task(std::move(t));
}

}  // namespace tilescope::experiments

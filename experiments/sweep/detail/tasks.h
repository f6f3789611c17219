// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a sweep asks of the store's rows: one task a chip and request, which the points that are the same share. For the
// .cc files of experiments/ alone.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "construct/restrictions.h"
#include "experiments/multi_fidelity/point.h"
#include "experiments/store/writer.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/searches.h"
#include "experiments/sweep/detail/spec.h"
#include "tile/program.h"

namespace tilescope::experiments {

// One chip with what is asked of its programs: the rows of several points, where these are the same.
struct Task {
  const arch::ArchSpec* chip = nullptr;
  Content chip_id{}, request{};
  const SweepPrograms* programs = nullptr;  // null: constructed
  construct::Restrictions restrictions;
  std::size_t base = 0;
  std::optional<std::size_t> search;     // that constructs for it, where programs are constructed,
  std::vector<std::size_t> beside;       // and those whose programs are evaluated too
  std::optional<std::size_t> reference;  // the task whose programs are taken
  std::optional<std::size_t> judges;     // the task whose programs are simulated, chosen by the model there
  bool is_reference = false, simulate = false;
  std::size_t simulated_first = 0;  // programs that the simulator ranks, beside as many others; 0: the model chooses
  std::vector<std::size_t> points;  // of the plan
};

struct Unit {
  std::size_t task, workload;
};

class SweepTasks {
 public:
  SweepTasks(const SweepSpec& spec, const SweepPlan& plan, StoreWriter& store, std::size_t pool_bytes);

  // Puts chips, operators and points into the store, those of the shard where one is asked for, and makes a task for
  // each point that is neither refused nor pruned. False, and nothing is put, where it was to stop.
  bool put(const std::optional<Shard>& shard, const std::function<bool()>& stop);
  // The same for points that were chosen later, and whose chips are read. False, and nothing is put, where it was to
  // stop.
  bool add(const std::vector<std::size_t>& points, const std::function<bool()>& stop);
  // Puts down that all points are chosen, or that all rows are there.
  void end_plan();
  void complete() { store_.complete(sweep_); }
  // Puts down the choice of a stage of a multi-fidelity sweep, and makes the tasks that simulate the programs of these
  // points' tasks, as a sweep of evaluator sim asks for it. Their numbers; some may have been there.
  std::vector<std::size_t> add_simulations(const StoredMultiFidelity& stage, const std::vector<JudgedPoint>& points,
                                           const std::vector<std::pair<std::size_t, Chosen>>& chosen);
  // These rows of one task are going to ask for its searches.
  void expect_searches(const std::vector<Unit>& rows);

  const std::vector<Task>& all() const { return tasks_; }
  const Task& operator[](std::size_t t) const { return tasks_[t]; }
  // The task of a point of the plan; none of one that is refused, pruned or not asked.
  std::optional<std::size_t> of_point(std::size_t p) const { return of_points_[p]; }
  RowKey key_of(Unit u) const { return {tasks_[u.task].chip_id, tasks_[u.task].request, workload_ids_[u.workload]}; }
  // The program of a stored row, read for its chip; nothing where the row has none.
  std::optional<tile::RProgram> program_of(Unit u) const;
  // Whether its chip is the base as it is.
  bool is_on_base(const Task& t) const { return t.chip_id == chip_ids_[t.base]; }
  SweepSearches& searches() { return searches_; }
  const SweepSearches& searches() const { return searches_; }

 private:
  std::string plan_hash() const;
  std::string sequence_hash() const;  // of all operators in their order; empty where each runs alone
  std::optional<StoredPlan> stored_plan(bool ended) const;
  bool add_chips(const std::function<bool()>& stop);
  std::optional<std::vector<NewPoint>> add_points(const std::vector<std::size_t>& ordinals,
                                                  const std::function<bool()>& stop);
  NewPoint add_point(const PlannedPoint& p);
  std::size_t add_reference(const PlannedPoint& p);
  void search_for(Task& t, const PlannedPoint& p);
  std::size_t add_task(Task t);
  std::size_t add_simulation(std::size_t task);

  const SweepSpec& spec_;
  const SweepPlan& plan_;
  StoreWriter& store_;
  SweepSearches searches_;
  std::string sequence_hash_;
  const PointGrid grid_;
  std::int64_t sweep_ = 0;                // the store's number of it
  std::vector<std::string> chip_hashes_;  // empty where the chip is not read
  std::map<const arch::ArchSpec*, std::string> hash_of_chip_;
  std::vector<std::optional<Content>> chip_ids_;  // nullopt where the store does not have the chip
  std::vector<Content> workload_ids_;
  std::vector<Task> tasks_;
  std::vector<std::optional<std::size_t>> of_points_;
  std::map<std::pair<Content, Content>, std::size_t> task_numbers_;
};

}  // namespace tilescope::experiments

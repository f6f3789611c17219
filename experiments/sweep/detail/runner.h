// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes the rows of a sweep that its store lacks; for the .cc files of experiments/ alone.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/construct.h"
#include "experiments/multi_fidelity/point.h"
#include "experiments/store/writer.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"
#include "experiments/sweep/detail/tasks.h"
#include "experiments/sweep/sweep.h"

namespace tilescope::experiments {

// The programs of the spec's files, by file and base: one an operator.
using FilePrograms = std::map<std::pair<const SweepPrograms*, std::size_t>, std::vector<GivenForWorkload>>;

// Runs a sweep as sweep() does; `spec` is null after errors, to which those of the request are added.
std::optional<SweepRun> run_sweep(const SweepSpec* spec, const SweepRequest& request, const std::function<bool()>& stop,
                                  const std::function<void(const SweepProgress&)>& tell, base::Diagnostics& diags);

class SweepRunner {
 public:
  using Stop = std::function<bool()>;

  // All but `plan` is only read; a plan that chooses its points is read further while it runs.
  SweepRunner(const SweepSpec& spec, SweepPlan& plan, const FilePrograms& of_files, StoreWriter& store,
              std::size_t pool_bytes, const std::function<void(const SweepProgress&)>& tell);

  // Puts chips, operators and points into the store, and finds what is to be done. False where it was to stop before.
  bool prepare(const std::optional<Shard>& shard, const Stop& stop);
  // `overdue` is called as SweepRequest::overdue; it may be empty.
  void run(int jobs, const Stop& stop, std::function<void()> overdue);

  std::size_t computed() const { return progress_.done - progress_.known; }
  bool complete() const;
  const std::vector<std::string>& lost() const { return lost_; }
  double construct_cpu_seconds() const { return 1e-6 * construct_cpu_us_; }
  std::uint64_t recomputed() const { return tasks_.searches().recomputed(); }

 private:
  // A choice takes all points: it is made where the shards are merged.
  bool is_multi_fidelity() const { return spec_.multi_fidelity && !is_shard_; }
  bool is_planned() const { return spec_.choice.by != PointChoice::By::kGrid; }

  void find_work();
  void work_all(int jobs, const Stop& stopped);
  void read_references();

  // plan's own points (choose.cc)
  void follow_plan(int jobs, const Stop& stopped);
  std::vector<Merit> merits_of(const std::vector<std::size_t>& ordinals) const;
  void escalate(int jobs, const Stop& stopped);
  std::vector<Unit> choose(const StoredMultiFidelity& state);
  std::pair<Store, StoredSweep> stored() const;

  // rows (rows.cc)
  void work(const std::vector<Unit>& units, int jobs, const Stop& stopped);
  void predict(const std::vector<Unit>& units, int jobs, const Stop& stopped);
  void predict_sequences(const std::vector<Unit>& units, int jobs, const Stop& stopped);
  void simulate(const std::vector<Unit>& units, int jobs, const Stop& stopped);
  MadeRow make(Unit u, double& construct_cpu_us);
  std::vector<MadeRow> to_simulate(Unit u);
  std::optional<tile::RProgram> stored_program(Unit u);
  const GivenForWorkload* given_for(Unit u) const;
  std::shared_ptr<const api::Ranked> found(std::size_t search, Unit u, double& construct_cpu_us);
  void begin(Unit u);
  void keep(Unit u, const MadeRow& made, double construct_cpu_us);
  void tick(int jobs);
  std::optional<double> seconds_left(int jobs) const;
  void commit();
  bool commit_if_due(std::chrono::steady_clock::duration age);
  std::string place_of(Unit u) const;

  void count(Unit u, std::optional<double> time_us);
  void describe_best(const Task& t, const StoredPoint& p);
  const Task* base_task(std::size_t base) const;

  const SweepSpec& spec_;
  SweepPlan& plan_;
  const FilePrograms& of_files_;
  StoreWriter& store_;
  const std::function<void(const SweepProgress&)>& tell_;

  SweepTasks tasks_;
  std::int64_t sweep_ = 0;  // the store's number of it
  bool is_shard_ = false;
  bool chosen_ = false;     // all points that the plan chooses are there
  bool escalated_ = false;  // all that is chosen is simulated
  std::map<std::size_t, std::vector<GivenForWorkload>> of_references_programs_;
  std::size_t found_ = 0;  // tasks whose rows were looked for
  std::vector<Unit> of_references_, others_;

  Stop stop_;
  std::function<void()> overdue_;
  std::optional<std::chrono::steady_clock::time_point> stopped_at_;
  // How long the rows of an operator take.
  struct RowTimes {
    std::size_t left = 0, made = 0;
    double seconds = 0;  // of all that are made
  };
  std::vector<RowTimes> times_;  // by operator
  std::map<std::thread::id, std::pair<Unit, std::chrono::steady_clock::time_point>> in_progress_;

  std::mutex one_at_a_time_;
  std::atomic<bool> broken_ = false;
  std::chrono::steady_clock::time_point committed_ = std::chrono::steady_clock::now();
  bool uncommitted_ = false;  // whether rows were added since
  SweepProgress progress_;
  std::vector<std::string> lost_;
  double best_us_ = std::numeric_limits<double>::infinity();
  double construct_cpu_us_ = 0;
};

}  // namespace tilescope::experiments

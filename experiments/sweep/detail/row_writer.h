// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds the rows of a sweep to its store and counts them; for the .cc files of experiments/ alone.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/store/writer.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"
#include "experiments/sweep/detail/tasks.h"
#include "experiments/sweep/sweep.h"

namespace tilescope::experiments {

// Rows are expected, begun and added; those that are added are committed within half a second while tick() is called.
class RowWriter {
 public:
  using Tell = std::function<void(const SweepProgress&)>;

  // All that is given outlives this; `tell` is called as by sweep().
  RowWriter(const SweepSpec& spec, const SweepPlan& plan, const SweepTasks& tasks, StoreWriter& store,
            const PlanRequest& request, const Tell& tell);
  // Called as SweepRequest::overdue; it may be empty.
  void when_overdue(std::function<void()> overdue) { overdue_ = std::move(overdue); }

  // Counts the rows of a task among those of the sweep. Those of them that the store lacks.
  std::vector<Unit> expect(std::size_t task);
  // Reports how many rows and points there are, after all known ones are expected.
  void report_expected();

  // This thread begins with a row.
  void begin(Unit u);
  // Adds a row to the store, from any thread.
  void add(Unit u, const MadeRow& made);
  // The row has no result in this run.
  void lose(Unit u, std::string_view why);
  void commit();
  // Looks at the rows in progress, several times a second, from any thread.
  void tick();
  void report() const { tell_(progress_); }

  // Whether no further row is to be made: the caller said so, or the store cannot be written.
  bool stopped() const { return broken_ || request_.stop(); }
  bool has_all() const { return progress_.done == progress_.all; }
  std::size_t computed() const { return progress_.done - progress_.known; }
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  // What is known of a task's results.
  struct Results {
    std::size_t left = 0;  // operators
    double weighted_us = 0;
    bool failed = false;
  };
  // How long the rows of an operator take.
  struct RowTimes {
    std::size_t left = 0, made = 0;
    double seconds = 0;  // of all that are made
  };

  void count(Unit u, std::optional<double> time_us);
  void describe_best(const Task& t, double weighted_us);
  std::optional<double> seconds_left() const;
  bool commit_if_due(std::chrono::steady_clock::duration age);
  std::string place_of(Unit u) const;

  const SweepSpec& spec_;
  const SweepPlan& plan_;
  const SweepTasks& tasks_;
  StoreWriter& store_;
  const PlanRequest& request_;
  const Tell& tell_;
  std::function<void()> overdue_;

  std::mutex one_at_a_time_;
  std::atomic<bool> broken_ = false;
  SweepProgress progress_;
  std::vector<std::string> lost_;
  std::vector<Results> results_;  // by task
  double best_us_ = std::numeric_limits<double>::infinity();
  std::vector<RowTimes> times_;  // by operator
  std::map<std::thread::id, std::pair<Unit, std::chrono::steady_clock::time_point>> in_progress_;
  std::chrono::steady_clock::time_point committed_ = std::chrono::steady_clock::now();
  bool uncommitted_ = false;  // whether rows were added since
  std::optional<std::chrono::steady_clock::time_point> stopped_at_;
};

}  // namespace tilescope::experiments

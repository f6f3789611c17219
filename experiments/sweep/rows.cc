// SPDX-License-Identifier: Apache-2.0
// How each row of a sweep comes about, and into the store.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/common/workers.h"
#include "api/simulate/simulated_programs.h"
#include "experiments/sweep/detail/runner.h"
#include "experiments/sweep/detail/runs.h"
#include "experiments/sweep/detail/ticker.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr auto kTick = std::chrono::milliseconds(200);
constexpr auto kGrace = std::chrono::milliseconds(1000);  // of rows in progress after a stop
constexpr double kSlowSeconds = 2;                        // a row that takes longer is named

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

}  // namespace

// That of a row, read for its chip; nothing where the row has none.
std::optional<tile::RProgram> SweepRunner::stored_program(Unit u) {
  const auto text = store_.program_of(tasks_.key_of(u));
  if (!text) return std::nullopt;
  base::Diagnostics own;
  const auto document = base::read_json(*text, own.add_source("program"), own);
  auto program = document ? tile::read_program(*document, *tasks_[u.task].chip, own) : std::nullopt;
  if (!program)
    throw_damaged_content(store_.path(),
                          fmt::format("the program of operator {} on {}", spec_.workloads[u.workload].name,
                                      spec_.bases[tasks_[u.task].base].name));
  return program;
}

const GivenForWorkload* SweepRunner::given_for(Unit u) const {
  const Task& t = tasks_[u.task];
  if (t.reference) return &of_references_programs_.at(*t.reference)[u.workload];
  if (t.programs != nullptr && t.programs->file) return &of_files_.at({t.programs, t.base})[u.workload];
  return nullptr;
}

std::shared_ptr<const api::Ranked> SweepRunner::found(std::size_t search, Unit u, double& construct_cpu_us) {
  return tasks_.searches().of(search, spec_.workloads[u.workload].searched_as, construct_cpu_us);
}

MadeRow SweepRunner::make(Unit u, double& construct_cpu_us) {
  const Task& t = tasks_[u.task];
  if (t.judges) return given_row(*t.chip, {stored_program({*t.judges, u.workload}), {}, "the model found no program"});
  const GivenForWorkload* given = given_for(u);
  if (given == nullptr) {
    const auto own = found(t.search.value(), u, construct_cpu_us);
    std::vector<std::shared_ptr<const api::Ranked>> beside;
    for (const std::size_t search : t.beside) beside.push_back(found(search, u, construct_cpu_us));
    return constructed_row(*t.chip, t.restrictions, *own, beside);
  }
  MadeRow row = given_row(*t.chip, *given);
  if (tasks_.is_on_base(t)) row.row.measured_us = given->measured_us;
  return row;
}

void SweepRunner::work(const std::vector<Unit>& units, int jobs, const Stop& stopped) {
  std::vector<Unit> predicted, simulated;
  for (const Unit& u : units) (tasks_[u.task].simulate ? simulated : predicted).push_back(u);
  {
    const Ticker ticker(kTick, [&] { tick(jobs); });
    predict(predicted, jobs, stopped);
  }
  if (simulated.empty() || stopped()) return;
  commit();  // the first simulation may take minutes
  std::vector<Unit> in_order;
  for (const std::vector<Unit>& run : in_runs(simulated, tasks_))
    in_order.insert(in_order.end(), run.begin(), run.end());
  simulate(in_order, jobs, stopped);
}

void SweepRunner::predict(const std::vector<Unit>& units, int jobs, const Stop& stopped) {
  if (spec_.sequence) return predict_sequences(units, jobs, stopped);
  const std::vector<std::vector<Unit>> runs = in_runs(units, tasks_);
  api::parallel_for(runs.size(), jobs, [&] {
    return [&](std::size_t i) {
      for (const Unit& u : runs[i]) {
        if (stopped()) return;
        begin(u);
        double construct_cpu_us = 0;
        const MadeRow made = make(u, construct_cpu_us);
        keep(u, made, construct_cpu_us);
      }
    };
  });
}

// All operators of a task at a time, as the time of each depends on those before it.
void SweepRunner::predict_sequences(const std::vector<Unit>& units, int jobs, const Stop& stopped) {
  std::vector<std::vector<Unit>> of_tasks;
  for (const Unit& u : units) {
    if (of_tasks.empty() || of_tasks.back().front().task != u.task) of_tasks.emplace_back();
    of_tasks.back().push_back(u);
  }
  api::parallel_for(of_tasks.size(), jobs, [&] {
    return [&](std::size_t i) {
      if (stopped()) return;
      const std::size_t task = of_tasks[i].front().task;
      begin(of_tasks[i].front());
      double construct_cpu_us = 0;
      std::vector<MadeRow> alone;
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        const std::size_t searched = spec_.workloads[w].searched_as;
        alone.push_back(searched < w ? MadeRow(alone[searched]) : make({task, w}, construct_cpu_us));
      }
      const std::vector<MadeRow> rows = in_sequence(std::move(alone), spec_, *tasks_[task].chip);
      for (const Unit& u : of_tasks[i]) keep(u, rows[u.workload], std::exchange(construct_cpu_us, 0));
    };
  });
}

// A row to simulate, or several of which the fastest counts; one without a program where there is none.
std::vector<MadeRow> SweepRunner::to_simulate(Unit u) {
  const Task& t = tasks_[u.task];
  std::vector<MadeRow> out;
  if (t.simulated_first == 0) {
    out.push_back(make(u, construct_cpu_us_));
    return out;
  }
  const auto own = found(t.search.value(), u, construct_cpu_us_);
  return rows_to_simulate(*t.chip, t.restrictions, *own, t.simulated_first);
}

void SweepRunner::simulate(const std::vector<Unit>& units, int jobs, const Stop& stopped) {
  const api::SimulationMode mode = spec_.multi_fidelity ? spec_.multi_fidelity->mode : api::SimulationMode::kSampled;
  std::map<std::size_t, std::vector<MadeRow>> under_way;
  api::WorkerCalls calls;
  calls.begin = [&](std::size_t i) {
    std::vector<MadeRow> rows = to_simulate(units[i]);
    if (!rows.front().program) {
      keep(units[i], rows.front(), 0);
      return false;
    }
    under_way.emplace(i, std::move(rows));
    return true;
  };
  calls.job = [&](std::size_t i) {
    std::vector<const tile::RProgram*> programs;
    for (const MadeRow& row : under_way.at(i)) programs.push_back(&*row.program);
    return api::simulate_fastest_in_worker(programs, *tasks_[units[i].task].chip, mode);
  };
  calls.end = [&](std::size_t i, api::WorkerResult answer) {
    std::vector<MadeRow> rows = std::move(under_way.extract(i).mapped());
    const arch::ArchSpec& chip = *tasks_[units[i].task].chip;
    if (answer.died) api::name_library(answer, chip);
    if (answer.died) return lost_.push_back(fmt::format("{}: {}", place_of(units[i]), answer.error));
    auto [place, simulated] = api::fastest_by(std::move(answer), chip);
    MadeRow& row = rows[place];
    row.row.simulation = std::move(simulated.simulation);
    row.row.error = std::move(simulated.error);
    keep(units[i], row, 0);
  };
  calls.stop = [&] {
    tell_(progress_);
    return stopped();
  };
  api::work_in_workers(units.size(), jobs, calls);
}

// This thread begins with a row.
void SweepRunner::begin(Unit u) {
  const std::lock_guard lock(one_at_a_time_);
  in_progress_.insert_or_assign(std::this_thread::get_id(), std::pair(u, Clock::now()));
}

// Looks at the rows in progress. A worker that ended its part of a loop has none.
void SweepRunner::tick(int jobs) {
  const std::lock_guard lock(one_at_a_time_);
  if (broken_) return;
  progress_.slow.reset();
  for (const auto& [thread, row] : in_progress_)
    if (const double seconds = seconds_since(row.second);
        seconds > std::max(kSlowSeconds, progress_.slow ? progress_.slow->seconds : 0))
      progress_.slow = SlowRow{place_of(row.first), seconds};
  progress_.seconds_left = seconds_left(jobs);
  tell_(progress_);
  // Rows are committed as they come; while none comes, what was kept last waits no longer for it.
  if (!commit_if_due(kCommitEvery)) return;
  if (!stop_()) return;
  if (!stopped_at_) stopped_at_ = Clock::now();
  if (!overdue_ || Clock::now() - *stopped_at_ < kGrace) return;
  if (!commit_if_due(std::chrono::milliseconds(0))) return;
  broken_ = true;  // rows that end from now on are not kept: what is said of the store is all there is
  overdue_();
}

// Each row that is left takes the mean of its operator so far; before its first row the mean of all, and at least what
// its row in progress has taken.
std::optional<double> SweepRunner::seconds_left(int jobs) const {
  RowTimes all;
  for (const RowTimes& t : times_) {
    all.left += t.left;
    all.made += t.made;
    all.seconds += t.seconds;
  }
  if (all.made == 0) return std::nullopt;
  std::vector<double> means(times_.size(), all.seconds / static_cast<double>(all.made));
  for (const auto& [thread, row] : in_progress_)
    means[row.first.workload] = std::max(means[row.first.workload], seconds_since(row.second));
  for (std::size_t w = 0; w < times_.size(); ++w)
    if (times_[w].made > 0) means[w] = times_[w].seconds / static_cast<double>(times_[w].made);
  const std::size_t chosen = tasks_.all().size();
  const std::size_t later = spec_.choice.nsga2.evaluations > chosen ? spec_.choice.nsga2.evaluations - chosen : 0;
  double seconds = 0;
  for (std::size_t w = 0; w < times_.size(); ++w) seconds += static_cast<double>(times_[w].left + later) * means[w];
  return seconds / std::max(1, jobs);
}

// Adds a row to the store, one thread at a time.
void SweepRunner::keep(Unit u, const MadeRow& made, double construct_cpu_us) {
  const RowTexts texts(
      made.row, made.program ? base::to_json(tile::to_document(*made.program, *tasks_[u.task].chip)) : std::string());
  const std::lock_guard lock(one_at_a_time_);
  if (broken_) return;
  try {
    store_.add(tasks_.key_of(u), texts);
    // A simulation takes long enough to be worth a commit of its own.
    uncommitted_ = true;
    if (tasks_[u.task].simulate || Clock::now() - committed_ > kCommitEvery) commit();
  } catch (...) {
    broken_ = true;
    throw;
  }
  construct_cpu_us_ += construct_cpu_us;
  if (!tasks_[u.task].simulate) {
    RowTimes& times = times_[u.workload];
    --times.left;
    ++times.made;
    // The rows of a sequence are made together: the first of them has the time of all.
    if (const auto row = in_progress_.find(std::this_thread::get_id()); row != in_progress_.end()) {
      times.seconds += seconds_since(row->second.second);
      in_progress_.erase(row);
    }
  }
  count(u, made.row.time_us());
  tell_(progress_);
}

void SweepRunner::commit() {
  store_.commit();
  committed_ = Clock::now();
  uncommitted_ = false;
}

// Whether the store could be written, where rows have waited that long for a commit.
bool SweepRunner::commit_if_due(Clock::duration age) {
  if (!uncommitted_ || Clock::now() - committed_ < age) return true;
  try {
    commit();
  } catch (const StoreError&) {
    return false;  // the thread that adds the next row says so
  }
  return true;
}

// "mm at core.count 40".
std::string SweepRunner::place_of(Unit u) const {
  const Task& t = tasks_[u.task];
  if (t.points.empty()) return fmt::format("{} on {}", spec_.workloads[u.workload].name, spec_.bases[t.base].name);
  const StoredPoint& point = plan_.points[t.points.front()].point;
  return fmt::format("{} at {}", spec_.workloads[u.workload].name, experiments::place_of(point, plan_.axes));
}

}  // namespace tilescope::experiments

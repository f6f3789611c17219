// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/row_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr auto kGrace = std::chrono::milliseconds(1000);  // of rows in progress after a stop
constexpr double kSlowSeconds = 2;                        // a row that takes longer is named

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

}  // namespace

RowWriter::RowWriter(const SweepSpec& spec, const SweepPlan& plan, const SweepTasks& tasks, StoreWriter& store,
                     const PlanRequest& request, const Tell& tell)
    : spec_(spec),
      plan_(plan),
      tasks_(tasks),
      store_(store),
      request_(request),
      tell_(tell),
      times_(spec.workloads.size()) {}

std::vector<Unit> RowWriter::expect(std::size_t task) {
  const Task& t = tasks_[task];
  results_.resize(tasks_.all().size(), {spec_.workloads.size()});
  std::vector<Unit> missing;
  const std::size_t points = progress_.points_done;
  for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
    ++progress_.all;
    if (t.judges) ++progress_.simulations_all;
    if (const auto known = store_.find(tasks_.key_of({task, w}))) {
      ++progress_.known;
      if (t.judges) ++progress_.simulations_known;
      count({task, w}, known->time_us);
    } else {
      missing.push_back({task, w});
      if (!t.simulate) ++times_[w].left;
    }
  }
  if (!spec_.choice.is_planned()) progress_.points_known += progress_.points_done - points;
  return missing;
}

void RowWriter::report_expected() {
  const auto points = std::count_if(plan_.points.begin(), plan_.points.end(), [](const PlannedPoint& p) {
    return p.asked && p.chip && p.point.pruned.empty() && !p.point.is_base;
  });
  progress_.points_all = std::max(static_cast<std::size_t>(points), spec_.choice.nsga2.evaluations);
  report();
}

void RowWriter::begin(Unit u) {
  const std::lock_guard lock(one_at_a_time_);
  in_progress_.insert_or_assign(std::this_thread::get_id(), std::pair(u, Clock::now()));
}

void RowWriter::add(Unit u, const MadeRow& made) {
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
  report();
}

void RowWriter::lose(Unit u, std::string_view why) { lost_.push_back(fmt::format("{}: {}", place_of(u), why)); }

void RowWriter::commit() {
  store_.commit();
  committed_ = Clock::now();
  uncommitted_ = false;
}

// Whether the store could be written, where rows have waited that long for a commit.
bool RowWriter::commit_if_due(Clock::duration age) {
  if (!uncommitted_ || Clock::now() - committed_ < age) return true;
  try {
    commit();
  } catch (const StoreError&) {
    return false;  // the thread that adds the next row says so
  }
  return true;
}

// A worker that ended its part of a loop has no row in progress.
void RowWriter::tick() {
  const std::lock_guard lock(one_at_a_time_);
  if (broken_) return;
  progress_.slow.reset();
  for (const auto& [thread, row] : in_progress_)
    if (const double seconds = seconds_since(row.second);
        seconds > std::max(kSlowSeconds, progress_.slow ? progress_.slow->seconds : 0))
      progress_.slow = SlowRow{place_of(row.first), seconds};
  progress_.seconds_left = seconds_left();
  report();
  // Rows are committed as they come; while none comes, what was kept last waits no longer for it.
  if (!commit_if_due(kCommitEvery)) return;
  if (!request_.stop()) return;
  if (!stopped_at_) stopped_at_ = Clock::now();
  if (!overdue_ || Clock::now() - *stopped_at_ < kGrace) return;
  if (!commit_if_due(std::chrono::milliseconds(0))) return;
  broken_ = true;  // rows that end from now on are not kept: what is said of the store is all there is
  overdue_();
}

// Each row that is left takes the mean of its operator so far; before its first row the mean of all, and at least what
// its row in progress has taken.
std::optional<double> RowWriter::seconds_left() const {
  RowTimes all;
  for (const RowTimes& t : times_) {
    all.made += t.made;
    all.seconds += t.seconds;
  }
  if (all.made == 0) return std::nullopt;
  std::vector<double> means(times_.size(), all.seconds / static_cast<double>(all.made));
  for (const auto& [thread, row] : in_progress_)
    means[row.first.workload] = std::max(means[row.first.workload], seconds_since(row.second));
  const std::size_t chosen = tasks_.all().size();
  const std::size_t later = spec_.choice.nsga2.evaluations > chosen ? spec_.choice.nsga2.evaluations - chosen : 0;
  double seconds = 0;
  for (std::size_t w = 0; w < times_.size(); ++w) {
    if (times_[w].made > 0) means[w] = times_[w].seconds / static_cast<double>(times_[w].made);
    seconds += static_cast<double>(times_[w].left + later) * means[w];
  }
  return seconds / std::max(1, request_.jobs);
}

void RowWriter::count(Unit u, std::optional<double> time_us) {
  const Task& t = tasks_[u.task];
  ++progress_.done;
  if (t.judges) {
    ++progress_.simulations_done;
    return;
  }
  Results& results = results_[u.task];
  results.failed = results.failed || !time_us;
  results.weighted_us += spec_.workloads[u.workload].weight * time_us.value_or(0);
  if (--results.left > 0) return;
  for (const std::size_t p : t.points) progress_.points_done += plan_.points[p].point.is_base ? 0 : 1;
  // Whether it meets the constraints is known where all its results are.
  if (!results.failed && (!spec_.objectives || spec_.objectives->asked.constraints.empty()))
    describe_best(t, results.weighted_us);
}

void RowWriter::describe_best(const Task& t, double weighted_us) {
  const auto is_point = [&](std::size_t p) { return !plan_.points[p].point.is_base; };
  const auto point = std::find_if(t.points.begin(), t.points.end(), is_point);
  if (point == t.points.end() || weighted_us >= best_us_) return;
  best_us_ = weighted_us;
  const StoredPoint& p = plan_.points[*point].point;
  const auto base = tasks_.of_point(t.base);  // point b is base b as it is
  const bool known = base && results_[*base].left == 0 && !results_[*base].failed;
  progress_.best = fmt::format(
      "{}{}",
      known ? fmt::format("{:.3f} of {} at ", weighted_us / results_[*base].weighted_us, p.base) : std::string(),
      experiments::place_of(p, plan_.axes));
}

// "mm at core.count 40".
std::string RowWriter::place_of(Unit u) const {
  const Task& t = tasks_[u.task];
  const std::string& name = spec_.workloads[u.workload].name;
  if (t.points.empty()) return fmt::format("{} on {}", name, spec_.bases[t.base].name);
  return fmt::format("{} at {}", name, experiments::place_of(plan_.points[t.points.front()].point, plan_.axes));
}

}  // namespace tilescope::experiments

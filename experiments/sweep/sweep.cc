// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/common/workers.h"
#include "api/instructions.h"
#include "api/simulate/simulated_programs.h"
#include "base/check.h"
#include "base/hash.h"
#include "experiments/multi_fidelity/choice.h"
#include "experiments/store/writer.h"
#include "experiments/sweep/detail/notes.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/runs.h"
#include "experiments/sweep/detail/searches.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"
#include "experiments/sweep/detail/tasks.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using Clock = std::chrono::steady_clock;

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr std::size_t kShown = 10;  // best points of a summary

double process_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The programs of the spec's files, by file and base: one an operator.
using FilePrograms = std::map<std::pair<const SweepPrograms*, std::size_t>, std::vector<GivenForWorkload>>;

FilePrograms programs_of_files(const SweepSpec& spec, Diagnostics& diags) {
  FilePrograms out;
  for (const SweepPrograms& p : spec.programs)
    for (std::size_t b = 0; b < spec.bases.size() && p.file; ++b)
      out[{&p, b}] = programs_of_file(p, spec.bases[b], spec.workloads, diags);
  return out;
}

std::size_t quarter_of_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 4;
}

class Runner {
 public:
  Runner(const SweepSpec& spec, const SweepPlan& plan, const FilePrograms& of_files, StoreWriter& store,
         std::size_t pool_bytes, const std::function<void(const SweepProgress&)>& tell)
      : spec_(spec),
        plan_(plan),
        of_files_(of_files),
        store_(store),
        tell_(tell),
        tasks_(spec, plan, store, pool_bytes) {}

  // Puts chips, operators and points into the store, and finds what is to be done. False where it was to stop before.
  bool prepare(const std::optional<Shard>& shard, const std::function<bool()>& stop) {
    is_shard_ = shard.has_value();
    const auto put = tasks_.put(shard, stop);
    if (!put) return false;
    sweep_ = *put;
    find_work();
    return true;
  }

  void run(int jobs, const std::function<bool()>& stop) {
    const std::function<bool()> stopped = [&] { return broken_ || stop(); };
    work(of_references_, jobs, stopped);
    if (!stopped()) read_references();
    if (!stopped()) work(others_, jobs, stopped);
    store_.commit();
    if (is_multi_fidelity() && !stopped()) escalate(jobs, stopped);
    if (complete()) store_.complete(sweep_);
  }

  std::size_t computed() const { return progress_.done - progress_.known; }
  bool complete() const { return progress_.done == progress_.all && (!is_multi_fidelity() || escalated_); }
  const std::vector<std::string>& lost() const { return lost_; }
  double construct_cpu_seconds() const { return 1e-6 * construct_cpu_us_; }
  std::uint64_t recomputed() const { return tasks_.searches().recomputed(); }

 private:
  // A choice takes all points: it is made where the shards are merged.
  bool is_multi_fidelity() const { return spec_.multi_fidelity && !is_shard_; }

  void find_work() {
    for (std::size_t t = 0; t < tasks_.all().size(); ++t) {
      std::vector<std::size_t> missing;
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        ++progress_.all;
        if (const auto known = store_.find(tasks_.key_of({t, w}))) {
          ++progress_.known;
          count({t, w}, known->time_us);
        } else {
          (tasks_[t].is_reference ? of_references_ : others_).push_back({t, w});
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
    for (const PlannedPoint& p : plan_.points) progress_.points_all += p.asked && p.chip && !p.point.is_base ? 1 : 0;
    progress_.points_known = progress_.points_done;
    tell_(progress_);
  }

  // The programs that references were found to have, from the store.
  void read_references() {
    for (std::size_t t = 0; t < tasks_.all().size(); ++t) {
      if (!tasks_[t].is_reference) continue;
      std::vector<GivenForWorkload>& given = of_references_programs_[t];
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        GivenForWorkload& g = given.emplace_back();
        g.program = stored_program({t, w});
        if (!g.program) g.why = fmt::format("{} has no program of its own for it", spec_.bases[tasks_[t].base].name);
      }
    }
  }

  // That of a row, read for its chip; nothing where the row has none.
  std::optional<tile::RProgram> stored_program(Unit u) {
    const auto text = store_.program_of(tasks_.key_of(u));
    if (!text) return std::nullopt;
    Diagnostics own;
    const auto document = base::read_json(*text, own.add_source("program"), own);
    auto program = document ? tile::read_program(*document, *tasks_[u.task].chip, own) : std::nullopt;
    if (!program)
      throw_damaged_content(store_.path(),
                            fmt::format("the program of operator {} on {}", spec_.workloads[u.workload].name,
                                        spec_.bases[tasks_[u.task].base].name));
    return program;
  }

  const GivenForWorkload* given_for(Unit u) const {
    const Task& t = tasks_[u.task];
    if (t.reference) return &of_references_programs_.at(*t.reference)[u.workload];
    if (t.programs != nullptr && t.programs->file) return &of_files_.at({t.programs, t.base})[u.workload];
    return nullptr;
  }

  std::shared_ptr<const api::Ranked> found(std::size_t search, Unit u, double& construct_cpu_us) {
    return tasks_.searches().of(search, spec_.workloads[u.workload].searched_as, construct_cpu_us);
  }

  MadeRow make(Unit u, double& construct_cpu_us) {
    const Task& t = tasks_[u.task];
    if (t.judges)
      return given_row(*t.chip, {stored_program({*t.judges, u.workload}), {}, "the model found no program"});
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

  // The points that the simulator judges: chosen from what the store holds, simulated and kept, and the neighbours only
  // after the validation sample, which says how wide the band is.
  void escalate(int jobs, const std::function<bool()>& stopped) {
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
  std::vector<Unit> choose(const StoredMultiFidelity& state) {
    const std::vector<JudgedPoint> points = judged();
    std::map<std::size_t, std::size_t> simulations;  // tasks, by the first of the points that they are of
    std::map<std::size_t, Chosen> reasons;
    for (const auto& [i, reason] : chosen_at(state, points)) {
      const std::size_t first = points[i].same_as;
      if (!simulations.contains(first)) simulations[first] = tasks_.add_simulation(tasks_.of_point(first).value());
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

  // The points with what is committed of them.
  std::vector<JudgedPoint> judged() const {
    Diagnostics own;
    const auto store = Store::open(store_.path(), own);
    base::check(store.has_value(), "a store that is written is read");
    for (const StoredSweep& s : store->sweeps())
      if (s.id == sweep_) return judged_points(*store, s);
    base::check(false, "a sweep that was put is there");
    return {};
  }

  void work(const std::vector<Unit>& units, int jobs, const std::function<bool()>& stopped) {
    std::vector<Unit> predicted, simulated;
    for (const Unit& u : units) (tasks_[u.task].simulate ? simulated : predicted).push_back(u);
    if (spec_.sequence) return predict_sequences(predicted, jobs, stopped);
    const std::vector<std::vector<Unit>> runs = in_runs(predicted, tasks_);
    api::parallel_for(runs.size(), jobs, [&] {
      return [&](std::size_t i) {
        for (const Unit& u : runs[i]) {
          if (stopped()) return;
          double construct_cpu_us = 0;
          const MadeRow made = make(u, construct_cpu_us);
          keep(u, made, construct_cpu_us);
        }
      };
    });
    if (simulated.empty() || stopped()) return;
    commit();  // the first simulation may take minutes
    std::vector<Unit> in_order;
    for (const std::vector<Unit>& run : in_runs(simulated, tasks_))
      in_order.insert(in_order.end(), run.begin(), run.end());
    simulate(in_order, jobs, stopped);
  }

  // All operators of a task at a time, as the time of each depends on those before it.
  void predict_sequences(const std::vector<Unit>& units, int jobs, const std::function<bool()>& stopped) {
    std::vector<std::vector<Unit>> of_tasks;
    for (const Unit& u : units) {
      if (of_tasks.empty() || of_tasks.back().front().task != u.task) of_tasks.emplace_back();
      of_tasks.back().push_back(u);
    }
    api::parallel_for(of_tasks.size(), jobs, [&] {
      return [&](std::size_t i) {
        if (stopped()) return;
        const std::size_t task = of_tasks[i].front().task;
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
  std::vector<MadeRow> to_simulate(Unit u) {
    const Task& t = tasks_[u.task];
    std::vector<MadeRow> out;
    if (t.simulated_first == 0) {
      out.push_back(make(u, construct_cpu_us_));
      return out;
    }
    const auto own = found(t.search.value(), u, construct_cpu_us_);
    return rows_to_simulate(*t.chip, t.restrictions, *own, t.simulated_first);
  }

  void simulate(const std::vector<Unit>& units, int jobs, const std::function<bool()>& stopped) {
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
    calls.stop = stopped;
    api::work_in_workers(units.size(), jobs, calls);
  }

  // Adds a row to the store, one thread at a time.
  void keep(Unit u, const MadeRow& made, double construct_cpu_us) {
    const RowTexts texts(
        made.row, made.program ? base::to_json(tile::to_document(*made.program, *tasks_[u.task].chip)) : std::string());
    const std::lock_guard lock(one_at_a_time_);
    if (broken_) return;
    try {
      store_.add(tasks_.key_of(u), texts);
      // A simulation takes long enough to be worth a commit of its own.
      if (tasks_[u.task].simulate || Clock::now() - committed_ > kCommitEvery) commit();
    } catch (...) {
      broken_ = true;
      throw;
    }
    construct_cpu_us_ += construct_cpu_us;
    count(u, made.row.time_us());
    tell_(progress_);
  }

  void commit() {
    store_.commit();
    committed_ = Clock::now();
  }

  void count(Unit u, std::optional<double> time_us) {
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
      if (t.failed || t.weighted_us >= best_us_) continue;
      best_us_ = t.weighted_us;
      describe_best(t, plan_.points[p].point);
    }
  }

  // "mm at core.count 40".
  std::string place_of(Unit u) const {
    const StoredPoint& point = plan_.points[tasks_[u.task].points.front()].point;
    return fmt::format("{} at {}", spec_.workloads[u.workload].name, experiments::place_of(point, plan_.axes));
  }

  void describe_best(const Task& t, const StoredPoint& p) {
    const auto base = base_task(t.base);
    const bool known = base != nullptr && base->left == 0 && !base->failed;
    progress_.best = fmt::format(
        "{}{}", known ? fmt::format("{:.3f} of {} at ", t.weighted_us / base->weighted_us, p.base) : std::string(),
        experiments::place_of(p, plan_.axes));
  }

  const Task* base_task(std::size_t base) const {
    for (const Task& t : tasks_.all())
      for (const std::size_t p : t.points)
        if (plan_.points[p].point.is_base && plan_.points[p].base == base) return &t;
    return nullptr;
  }

  const SweepSpec& spec_;
  const SweepPlan& plan_;
  const FilePrograms& of_files_;
  StoreWriter& store_;
  const std::function<void(const SweepProgress&)>& tell_;

  SweepTasks tasks_;
  std::int64_t sweep_ = 0;  // the store's number of it
  bool is_shard_ = false;
  bool escalated_ = false;  // all that is chosen is simulated
  std::map<std::size_t, std::vector<GivenForWorkload>> of_references_programs_;
  std::vector<Unit> of_references_, others_;

  std::mutex one_at_a_time_;
  std::atomic<bool> broken_ = false;
  Clock::time_point committed_ = Clock::now();
  SweepProgress progress_;
  std::vector<std::string> lost_;
  double best_us_ = std::numeric_limits<double>::infinity();
  double construct_cpu_us_ = 0;
};

// Nothing, and why, where the file was taken away meanwhile.
std::optional<SweepState> stored_state(const std::string& path, const SweepSpec& spec, Diagnostics& diags) {
  const auto store = Store::open(path, diags);
  if (!store) return std::nullopt;
  for (const StoredSweep& s : store->sweeps()) {
    if (s.title != spec.title) continue;
    SweepState out = state_of(*store, s, kShown);
    note_escalation(*store, out, spec, diags);
    return out;
  }
  base::check(false, "a sweep that was put is there");
  return {};
}

}  // namespace

std::optional<SweepRun> sweep(const SweepRequest& request, const std::function<bool()>& stop,
                              const std::function<void(const SweepProgress&)>& tell, Diagnostics& diags) {
  const auto spec = read_sweep(request.file, request.jobs, diags);
  if (std::string why = why_no_file(request.store); !why.empty())  // before minutes of planning
    diags.error({diags.add_source(request.store)}, std::move(why));
  if (!spec || !diags.ok()) return std::nullopt;
  SweepRun out;
  const auto ended_before = [&]() -> std::optional<SweepRun> {
    if (!diags.ok()) return std::nullopt;
    out.stopped = true;
    return std::move(out);
  };
  const auto points = plan(*spec, {request.shard, request.jobs, stop}, diags);
  if (!points) return ended_before();
  const FilePrograms of_files = programs_of_files(*spec, diags);
  if (!diags.ok()) return std::nullopt;
  note_instructions(*spec, *points, diags);
  {
    const auto shard = request.shard ? std::optional(ShardOfSweep{*request.shard, spec->title}) : std::nullopt;
    auto store = StoreWriter::open(request.store, request.tool_version, diags, shard);
    if (!store) return std::nullopt;
    const std::size_t memory = request.memory > 0 ? request.memory : quarter_of_memory();
    Runner runner(*spec, *points, of_files, *store, memory, tell);
    Clock::time_point start;
    double start_cpu_seconds = 0;
    try {
      if (!runner.prepare(request.shard, stop)) return ended_before();
      start = Clock::now();
      start_cpu_seconds = process_cpu_seconds();
      runner.run(request.jobs, stop);
    } catch (const DamagedError&) {
      throw;
    } catch (const StoreError& e) {
      throw StoreError(
          fmt::format("{}; what was committed before is kept, and the same command goes on from there", e.what()));
    }
    out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    out.cpu_seconds = process_cpu_seconds() - start_cpu_seconds;
    out.construct_cpu_seconds = runner.construct_cpu_seconds();
    out.computed = runner.computed();
    out.lost = runner.lost();
    out.stopped = !runner.complete();
    if (const std::uint64_t again = runner.recomputed(); again > 0)
      diags.note({}, fmt::format("programs that chips share were made again {} times, for want of room in {} MiB; more "
                                 "--memory is faster, with the same results",
                                 again, memory >> 20));
  }
  std::optional<SweepState> state = stored_state(request.store, *spec, diags);
  if (!state) return std::nullopt;
  out.state = std::move(*state);
  out.planned = true;
  return out;
}

}  // namespace tilescope::experiments

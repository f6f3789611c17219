// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <time.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/home.h"
#include "experiments/common/parallel.h"
#include "experiments/common/workers.h"
#include "experiments/programs/instructions.h"
#include "experiments/simulate/simulated_programs.h"
#include "experiments/store/writer.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/searches.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"
#include "tile/program_json.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using Clock = std::chrono::steady_clock;

constexpr auto kCommitEvery = std::chrono::milliseconds(500);
constexpr std::size_t kShown = 10;      // best points of a summary
constexpr std::size_t kMaxKept = 4096;  // searches whose programs wait for other points, where there are few operators

double process_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

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
  bool is_reference = false, simulate = false;
  std::vector<std::size_t> points;  // of the plan

  std::size_t left = 0;  // operators
  double weighted_us = 0;
  bool failed = false;
};

struct Unit {
  std::size_t task, workload;
};

// The programs of the spec's files, by file and base: one an operator.
using FilePrograms = std::map<std::pair<const SweepPrograms*, std::size_t>, std::vector<GivenForWorkload>>;

FilePrograms programs_of_files(const SweepSpec& spec, Diagnostics& diags) {
  FilePrograms out;
  for (const SweepPrograms& p : spec.programs)
    for (std::size_t b = 0; b < spec.bases.size() && p.file; ++b)
      out[{&p, b}] = programs_of_file(p, spec.bases[b], spec.workloads, diags);
  return out;
}

void note_instructions(const SweepSpec& spec, const SweepPlan& plan, Diagnostics& diags) {
  std::vector<const expr::Expression*> operators;
  for (const SweepWorkload& w : spec.workloads) operators.push_back(&w.expression);
  for (const auto& chip : plan.chips) experiments::note_instructions(operators, *chip, chip->name, diags);
}

class Runner {
 public:
  Runner(const SweepSpec& spec, const SweepPlan& plan, const FilePrograms& of_files, StoreWriter& store,
         const std::function<void(const SweepProgress&)>& tell)
      : spec_(spec), plan_(plan), of_files_(of_files), store_(store), tell_(tell), searches_(spec.workloads) {
    for (const PlannedPoint& p : plan.points)
      if (p.chip && is_constructed(p) && !p.point.is_base) grid_.emplace(p.index, &p);
  }

  // Puts chips, operators and points into the store, and finds what is to be done.
  void prepare() {
    for (const auto& chip : plan_.chips) {
      chip_hashes_.push_back(base::content_hash(identity_of(*chip)));
      hash_of_chip_[chip.get()] = chip_hashes_.back();
      chip_ids_.push_back(store_.chip(identity_of(*chip), chip->name, arch::to_document(*chip)));
    }
    std::vector<NewWorkload> workloads;
    for (const SweepWorkload& w : spec_.workloads) {
      workload_ids_.push_back(store_.workload(w.document));
      workloads.push_back({w.name, w.kind, w.weight, workload_ids_.back()});
    }
    std::vector<NewPoint> points;
    for (const PlannedPoint& p : plan_.points) points.push_back(add_point(p));
    StoredSweep sweep{0, spec_.title, spec_.file, spec_.text, spec_.simulate ? "sim" : "model", plan_.axes, {}};
    store_.put_sweep(sweep, points, workloads);
    find_work();
  }

  void run(int jobs, const std::function<bool()>& stop) {
    const std::function<bool()> stopped = [&] { return broken_ || stop(); };
    work(of_references_, jobs, stopped);
    if (!stopped()) read_references();
    if (!stopped()) work(others_, jobs, stopped);
    store_.commit();
  }

  std::size_t computed() const { return progress_.done - progress_.known; }
  bool complete() const { return progress_.done == progress_.all; }
  const std::vector<std::string>& lost() const { return lost_; }
  double construct_cpu_seconds() const { return 1e-6 * construct_cpu_us_; }

 private:
  NewPoint add_point(const PlannedPoint& p) {
    NewPoint out;
    out.point = p.point;
    out.base_ordinal = p.base;
    if (!p.chip) return out;
    Task t;
    t.chip = plan_.chips[*p.chip].get();
    t.chip_id = chip_ids_[*p.chip];
    t.programs = p.programs ? &spec_.programs[*p.programs] : nullptr;
    t.restrictions = p.restrictions;
    t.base = p.base;
    t.simulate = spec_.simulate;
    if (is_constructed(p)) search_for(t, p);
    if (t.programs != nullptr && t.programs->from == SweepPrograms::From::kBase) t.reference = add_reference(p);
    const std::size_t task = add_task(std::move(t));
    tasks_[task].points.push_back(p.point.ordinal);
    out.chip = tasks_[task].chip_id;
    out.request = tasks_[task].request;
    return out;
  }

  // The base's own programs under the same restrictions.
  std::size_t add_reference(const PlannedPoint& p) {
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

  bool is_constructed(const PlannedPoint& p) const {
    return !p.programs || spec_.programs[*p.programs].from == SweepPrograms::From::kConstruct;
  }

  static bool same(const construct::Restrictions& a, const construct::Restrictions& b) {
    return a.pads == b.pads && a.block == b.block;
  }

  // The task's own search and those beside it, under the same restrictions: its base's, and those of its neighbours,
  // one value away along one axis. A base as it is has the neighbours of the point that is the same chip.
  void search_for(Task& t, const PlannedPoint& p) {
    t.search = searches_.add(*t.chip, t.restrictions);
    const PlannedPoint* at = &p;
    if (p.point.is_base) {
      const auto same_chip = std::find_if(grid_.begin(), grid_.end(), [&](const auto& g) {
        return g.second->chip == p.chip && same(g.second->restrictions, p.restrictions);
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
        if (neighbour != grid_.end() && same(neighbour->second->restrictions, t.restrictions))
          add(*plan_.chips[*neighbour->second->chip]);
      }
  }

  std::size_t add_task(Task t) {
    std::vector<std::string> beside;
    for (const std::size_t search : t.beside) beside.push_back(hash_of_chip_.at(&searches_.chip_of(search)));
    t.request = store_.request(
        request_document(t.programs, t.restrictions, chip_hashes_[t.base], std::move(beside), t.simulate));
    t.left = spec_.workloads.size();
    const auto [entry, fresh] = task_numbers_.emplace(std::pair(t.chip_id, t.request), tasks_.size());
    if (fresh) tasks_.push_back(std::move(t));
    return entry->second;
  }

  void find_work() {
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        ++progress_.all;
        if (const auto known = store_.find(key_of({t, w}))) {
          ++progress_.known;
          count({t, w}, known->time_us);
        } else {
          (tasks_[t].is_reference ? of_references_ : others_).push_back({t, w});
          if (!tasks_[t].search) continue;
          searches_.expect(*tasks_[t].search, w);
          for (const std::size_t search : tasks_[t].beside) searches_.expect(search, w);
        }
      }
    for (const PlannedPoint& p : plan_.points) progress_.points_all += p.chip && !p.point.is_base ? 1 : 0;
    progress_.points_known = progress_.points_done;
    tell_(progress_);
  }

  RowKey key_of(Unit u) const { return {tasks_[u.task].chip_id, tasks_[u.task].request, workload_ids_[u.workload]}; }

  // The programs that references were found to have, from the store.
  void read_references() {
    Diagnostics own;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!tasks_[t].is_reference) continue;
      std::vector<GivenForWorkload>& given = of_references_programs_[t];
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        GivenForWorkload& g = given.emplace_back();
        if (const auto text = store_.program_of(key_of({t, w}))) {
          const auto document = base::read_json(*text, own.add_source("program"), own);
          g.program = document ? tile::read_program(*document, *tasks_[t].chip, own) : std::nullopt;
          base::check(g.program.has_value(), "a stored program is read back");
        } else {
          g.why = fmt::format("{} has no program of its own for it", spec_.bases[tasks_[t].base].name);
        }
      }
    }
  }

  const GivenForWorkload* given_for(Unit u) const {
    const Task& t = tasks_[u.task];
    if (t.reference) return &of_references_programs_.at(*t.reference)[u.workload];
    if (t.programs != nullptr && t.programs->file) return &of_files_.at({t.programs, t.base})[u.workload];
    return nullptr;
  }

  MadeRow make(Unit u, double& construct_cpu_us) {
    const Task& t = tasks_[u.task];
    const GivenForWorkload* given = given_for(u);
    if (given == nullptr) {
      const auto own = searches_.of(t.search.value(), u.workload, construct_cpu_us);
      std::vector<std::shared_ptr<const Constructed>> beside;
      for (const std::size_t search : t.beside) beside.push_back(searches_.of(search, u.workload, construct_cpu_us));
      return constructed_row(*t.chip, t.restrictions, *own, beside);
    }
    MadeRow row = given_row(*t.chip, *given);
    if (t.chip_id == chip_ids_[t.base]) row.row.measured_us = given->measured_us;
    return row;
  }

  void work(const std::vector<Unit>& units, int jobs, const std::function<bool()>& stopped) {
    std::vector<Unit> predicted, simulated;
    for (const Unit& u : in_order(units)) (tasks_[u.task].simulate ? simulated : predicted).push_back(u);
    parallel_for(predicted.size(), jobs, [&] {
      return [&](std::size_t i) {
        if (stopped()) return;
        double construct_cpu_us = 0;
        const MadeRow made = make(predicted[i], construct_cpu_us);
        keep(predicted[i], made, construct_cpu_us);
      };
    });
    if (simulated.empty() || stopped()) return;
    commit();  // the first simulation may take minutes
    simulate(simulated, jobs, stopped);
  }

  // Point by point, of as few operators at a time that the programs which points keep for each other are bounded.
  std::vector<Unit> in_order(std::vector<Unit> units) const {
    const std::size_t at_a_time = std::max<std::size_t>(1, kMaxKept / std::max<std::size_t>(1, tasks_.size()));
    std::stable_sort(units.begin(), units.end(),
                     [&](const Unit& a, const Unit& b) { return a.workload / at_a_time < b.workload / at_a_time; });
    return units;
  }

  void simulate(const std::vector<Unit>& units, int jobs, const std::function<bool()>& stopped) {
    std::map<std::size_t, MadeRow> under_way;
    WorkerCalls calls;
    calls.begin = [&](std::size_t i) {
      MadeRow row = make(units[i], construct_cpu_us_);
      if (!row.program) {
        keep(units[i], row, 0);
        return false;
      }
      under_way.emplace(i, std::move(row));
      return true;
    };
    calls.job = [&](std::size_t i) {
      return simulate_in_worker(*under_way.at(i).program, *tasks_[units[i].task].chip, SimulationMode::kSampled);
    };
    calls.end = [&](std::size_t i, WorkerResult answer) {
      MadeRow row = std::move(under_way.extract(i).mapped());
      if (answer.died) return lost_.push_back(fmt::format("{}: {}", place_of(units[i]), answer.error));
      SimulatedProgram simulated = simulated_by(std::move(answer));
      row.row.simulation = std::move(simulated.simulation);
      row.row.error = std::move(simulated.error);
      keep(units[i], row, 0);
    };
    calls.stop = stopped;
    work_in_workers(units.size(), jobs, calls);
  }

  // Adds a row to the store, one thread at a time.
  void keep(Unit u, const MadeRow& made, double construct_cpu_us) {
    const RowTexts texts(
        made.row, made.program ? base::to_json(tile::to_document(*made.program, *tasks_[u.task].chip)) : std::string());
    const std::lock_guard lock(one_at_a_time_);
    if (broken_) return;
    try {
      store_.add(key_of(u), texts);
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
    for (const Task& t : tasks_)
      for (const std::size_t p : t.points)
        if (plan_.points[p].point.is_base && plan_.points[p].base == base) return &t;
    return nullptr;
  }

  const SweepSpec& spec_;
  const SweepPlan& plan_;
  const FilePrograms& of_files_;
  StoreWriter& store_;
  const std::function<void(const SweepProgress&)>& tell_;

  SweepSearches searches_;
  std::map<std::vector<std::size_t>, const PlannedPoint*> grid_;  // of constructed programs, by index
  std::vector<std::string> chip_hashes_;
  std::map<const arch::ArchSpec*, std::string> hash_of_chip_;
  std::vector<Content> chip_ids_, workload_ids_;
  std::vector<Task> tasks_;
  std::map<std::pair<Content, Content>, std::size_t> task_numbers_;
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

SweepState stored_state(const std::string& path, const std::string& title, Diagnostics& diags) {
  const auto store = Store::open(path, diags);
  base::check(store.has_value(), "a store that was written is read");
  for (const StoredSweep& s : store->sweeps())
    if (s.title == title) return state_of(*store, s, kShown);
  base::check(false, "a sweep that was put is there");
  return {};
}

}  // namespace

std::optional<SweepRun> sweep(const SweepRequest& request, const std::function<bool()>& stop,
                              const std::function<void(const SweepProgress&)>& tell, Diagnostics& diags) {
  const auto spec = read_sweep(request.file, diags);
  if (!spec) return std::nullopt;
  const auto points = plan(*spec, request.jobs, [](std::size_t, std::size_t) {}, diags);
  if (!points) return std::nullopt;
  const FilePrograms of_files = programs_of_files(*spec, diags);
  if (!diags.ok()) return std::nullopt;
  note_instructions(*spec, *points, diags);
  SweepRun out;
  {
    auto store = StoreWriter::open(request.store, request.tool_version, diags);
    if (!store) return std::nullopt;
    Runner runner(*spec, *points, of_files, *store, tell);
    Clock::time_point start;
    double start_cpu_seconds = 0;
    try {
      runner.prepare();
      start = Clock::now();
      start_cpu_seconds = process_cpu_seconds();
      runner.run(request.jobs, stop);
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
  }
  out.state = stored_state(request.store, spec->title, diags);
  return out;
}

std::string sweep_schema_path() { return base::home_path("experiments/sweep/schema.json"); }

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/evaluator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "api/common/parallel.h"
#include "api/common/workers.h"
#include "api/simulate/simulated_programs.h"

namespace tilescope::experiments {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr std::size_t kMaxKept = 4096;  // searches whose programs wait for other points, where there are few operators
constexpr std::size_t kChipsOfARun = 16;

// A thread that looks at long work from time to time.
class Ticker {
 public:
  // Calls `tick` after every `period` until this object is destroyed, which waits for a call that has begun. `tick`
  // does not throw.
  Ticker(std::chrono::milliseconds period, std::function<void()> tick)
      : thread_([period, tick = std::move(tick)](const std::stop_token& ended) {
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          while (!never.wait_for(lock, ended, period, [&] { return ended.stop_requested(); })) tick();
        }) {}

 private:
  std::jthread thread_;
};

// The units in runs, each for one thread: a few chips for one operator. Of as few operators at a time that the programs
// which points keep for each other are bounded; chips that share programs follow each other, so that what they share is
// at hand, and the runs of one operator do not, so that threads rarely want the same.
std::vector<std::vector<Unit>> in_runs(const std::vector<Unit>& units, const SweepTasks& tasks) {
  const std::size_t operators = std::max<std::size_t>(1, kMaxKept / std::max<std::size_t>(1, tasks.all().size()));
  std::vector<std::size_t> pools, places;  // of tasks; the place is that among those that share its programs
  std::map<std::size_t, std::size_t> tasks_of_pool;
  for (const Task& t : tasks.all()) {
    pools.push_back(t.search ? tasks.searches().pool_of(*t.search) : 0);
    places.push_back(tasks_of_pool[pools.back()]++);
  }
  std::map<std::array<std::size_t, 4>, std::vector<Unit>> runs;
  for (const Unit& u : units)
    runs[{u.workload / operators, pools[u.task], places[u.task] / kChipsOfARun, u.workload}].push_back(u);
  std::vector<std::vector<Unit>> out;
  for (auto& [place, run] : runs) {
    std::stable_sort(run.begin(), run.end(), [](const Unit& a, const Unit& b) { return a.task < b.task; });
    out.push_back(std::move(run));
  }
  return out;
}

}  // namespace

void RowEvaluator::evaluate(const std::vector<Unit>& units) {
  std::vector<Unit> of_references, others;
  for (const Unit& u : units) (tasks_[u.task].is_reference ? of_references : others).push_back(u);
  evaluate_alike(of_references);
  if (!rows_.stopped()) read_references();
  if (!rows_.stopped()) evaluate_alike(others);
}

void RowEvaluator::evaluate_alike(const std::vector<Unit>& units) {
  std::vector<Unit> predicted, simulated;
  for (const Unit& u : units) (tasks_[u.task].simulate ? simulated : predicted).push_back(u);
  {
    const Ticker ticker(kTick, [this] { rows_.tick(); });
    predict(predicted);
  }
  if (simulated.empty() || rows_.stopped()) return;
  rows_.commit();  // the first simulation may take minutes
  std::vector<Unit> in_order;
  for (const std::vector<Unit>& run : in_runs(simulated, tasks_))
    in_order.insert(in_order.end(), run.begin(), run.end());
  simulate(in_order);
}

void RowEvaluator::predict(const std::vector<Unit>& units) {
  if (spec_.sequence) return predict_sequences(units);
  const std::vector<std::vector<Unit>> runs = in_runs(units, tasks_);
  api::parallel_for(runs.size(), jobs_, [&] {
    return [&](std::size_t i) {
      for (const Unit& u : runs[i]) {
        if (rows_.stopped()) return;
        rows_.begin(u);
        rows_.add(u, make(u));
      }
    };
  });
}

// All operators of a task at a time, as the time of each depends on those before it.
void RowEvaluator::predict_sequences(const std::vector<Unit>& units) {
  std::vector<std::vector<Unit>> of_tasks;
  for (const Unit& u : units) {
    if (of_tasks.empty() || of_tasks.back().front().task != u.task) of_tasks.emplace_back();
    of_tasks.back().push_back(u);
  }
  api::parallel_for(of_tasks.size(), jobs_, [&] {
    return [&](std::size_t i) {
      if (rows_.stopped()) return;
      const std::size_t task = of_tasks[i].front().task;
      rows_.begin(of_tasks[i].front());
      std::vector<MadeRow> alone;
      for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
        const std::size_t searched = spec_.workloads[w].searched_as;
        alone.push_back(searched < w ? MadeRow(alone[searched]) : make({task, w}));
      }
      const std::vector<MadeRow> rows = in_sequence(std::move(alone), spec_, *tasks_[task].chip);
      for (const Unit& u : of_tasks[i]) rows_.add(u, rows[u.workload]);
    };
  });
}

void RowEvaluator::simulate(const std::vector<Unit>& units) {
  std::map<std::size_t, std::vector<MadeRow>> in_flight;
  const auto chip_of = [&](std::size_t i) -> const arch::ArchSpec& { return *tasks_[units[i].task].chip; };
  api::WorkerCalls calls;
  calls.begin = [&](std::size_t i) {
    std::vector<MadeRow> rows = to_simulate(units[i]);
    if (!rows.front().program) {
      rows_.add(units[i], rows.front());
      return false;
    }
    in_flight.emplace(i, std::move(rows));
    return true;
  };
  calls.job = [&](std::size_t i) {
    std::vector<const tile::RProgram*> programs;
    for (const MadeRow& row : in_flight.at(i)) programs.push_back(&*row.program);
    return api::simulate_fastest_in_worker(programs, chip_of(i), spec_.simulation_mode());
  };
  calls.end = [&](std::size_t i, api::WorkerResult answer) {
    std::vector<MadeRow> rows = std::move(in_flight.extract(i).mapped());
    if (answer.died) api::name_library(answer, chip_of(i));
    if (answer.died) return rows_.lose(units[i], answer.error);
    auto [place, simulated] = api::fastest_by(std::move(answer), chip_of(i));
    MadeRow& row = rows[place];
    row.row.simulation = std::move(simulated.simulation);
    row.row.error = std::move(simulated.error);
    rows_.add(units[i], row);
  };
  calls.stop = [&] {
    rows_.report();
    return rows_.stopped();
  };
  api::work_in_workers(units.size(), jobs_, calls);
}

// The programs that references were found to have, from the store.
void RowEvaluator::read_references() {
  for (std::size_t t = 0; t < tasks_.all().size(); ++t) {
    if (!tasks_[t].is_reference || of_references_.contains(t)) continue;
    std::vector<GivenForWorkload>& given = of_references_[t];
    for (std::size_t w = 0; w < spec_.workloads.size(); ++w) {
      GivenForWorkload& g = given.emplace_back();
      g.program = tasks_.program_of({t, w});
      if (!g.program) g.why = fmt::format("{} has no program of its own for it", spec_.bases[tasks_[t].base].name);
    }
  }
}

MadeRow RowEvaluator::make(Unit u) {
  const Task& t = tasks_[u.task];
  if (t.judges)
    return given_row(*t.chip, {tasks_.program_of({*t.judges, u.workload}), {}, "the model found no program"});
  const GivenForWorkload* given = given_for(u);
  if (given == nullptr) {
    const auto own = tasks_.searches().of(t.search.value(), u.workload);
    std::vector<std::shared_ptr<const api::Ranked>> beside;
    for (const std::size_t search : t.beside) beside.push_back(tasks_.searches().of(search, u.workload));
    return constructed_row(*t.chip, t.restrictions, *own, beside);
  }
  MadeRow row = given_row(*t.chip, *given);
  if (tasks_.is_on_base(t)) row.row.measured_us = given->measured_us;
  return row;
}

// A row to simulate, or several of which the fastest counts; one without a program where there is none.
std::vector<MadeRow> RowEvaluator::to_simulate(Unit u) {
  const Task& t = tasks_[u.task];
  if (t.simulated_first == 0) return {make(u)};
  return rows_to_simulate(*t.chip, t.restrictions, *tasks_.searches().of(t.search.value(), u.workload),
                          t.simulated_first);
}

const GivenForWorkload* RowEvaluator::given_for(Unit u) const {
  const Task& t = tasks_[u.task];
  if (t.reference) return &of_references_.at(*t.reference)[u.workload];
  if (t.programs != nullptr && t.programs->file) return &of_files_.at({t.programs, t.base})[u.workload];
  return nullptr;
}

}  // namespace tilescope::experiments

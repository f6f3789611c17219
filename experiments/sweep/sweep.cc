// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/sweep.h"

#include <chrono>
#include <map>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "experiments/store/writer.h"
#include "experiments/sweep/detail/chooser.h"
#include "experiments/sweep/detail/evaluator.h"
#include "experiments/sweep/detail/notes.h"
#include "experiments/sweep/detail/row_writer.h"
#include "experiments/sweep/detail/run.h"

namespace tilescope::experiments {
namespace {

using base::Diagnostics;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kShown = 10;  // best points of a summary

double process_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

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

// Nothing, and why, where the file was taken away meanwhile.
std::optional<SweepState> stored_state(const std::string& path, const SweepSpec& spec, Diagnostics& diags) {
  const auto store = Store::open(path, diags);
  if (!store) return std::nullopt;
  const auto sweep = store->sweep(spec.title);
  base::check(sweep.has_value(), "a sweep that was put is there");
  SweepState out = state_of(*store, *sweep, kShown);
  note_escalation(*store, out, spec, diags);
  return out;
}

// Asks the chooser for points, the evaluator for their rows, and the writer whether to go on.
class SweepRunner {
 public:
  // All but `plan` is only read; a plan that chooses its points is read further while it runs.
  SweepRunner(const SweepSpec& spec, SweepPlan& plan, const FilePrograms& of_files, StoreWriter& store,
              std::size_t pool_bytes, const PlanRequest& request, const RowWriter::Tell& tell)
      : spec_(spec),
        plan_(plan),
        store_(store),
        request_(request),
        tasks_(spec, plan, store, pool_bytes),
        rows_(spec, plan, tasks_, store, request, tell),
        evaluator_(spec, of_files, tasks_, rows_, request.jobs) {}

  // Puts chips, operators and points into the store, and finds what is to be done. False where it was to stop before.
  bool prepare() {
    if (!tasks_.put(request_.shard, request_.stop)) return false;
    missing_ = missing_rows();
    return true;
  }

  // `overdue` is called as SweepRequest::overdue; it may be empty.
  void run(std::function<void()> overdue) {
    start_ = Clock::now();
    start_cpu_seconds_ = process_cpu_seconds();
    rows_.when_overdue(std::move(overdue));
    evaluate(missing_);
    PointChooser chooser(spec_, plan_, store_.path());
    if (spec_.choice.is_planned()) follow_plan(chooser);
    if (is_multi_fidelity() && !rows_.stopped()) escalate(chooser);
    if (is_complete()) tasks_.complete();
  }

  void describe(SweepRun& out) const {
    out.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    out.cpu_seconds = process_cpu_seconds() - start_cpu_seconds_;
    out.construct_cpu_seconds = tasks_.searches().construct_cpu_seconds();
    out.computed = rows_.computed();
    out.lost = rows_.lost();
    out.stopped = !is_complete();
  }

  std::uint64_t recomputed() const { return tasks_.searches().recomputed(); }

 private:
  // A choice takes all points: it is made where the shards are merged.
  bool is_multi_fidelity() const { return spec_.multi_fidelity && !request_.shard; }

  bool is_complete() const {
    return rows_.has_all() && (!spec_.choice.is_planned() || chosen_) && (!is_multi_fidelity() || escalated_);
  }

  // The rows of new tasks that the store lacks.
  std::vector<Unit> missing_rows() {
    std::vector<Unit> out;
    for (; searched_ < tasks_.all().size(); ++searched_) {
      const std::vector<Unit> missing = rows_.expect(searched_);
      tasks_.expect_searches(missing);
      out.insert(out.end(), missing.begin(), missing.end());
    }
    rows_.report_expected();
    return out;
  }

  void evaluate(const std::vector<Unit>& units) {
    evaluator_.evaluate(units);
    rows_.commit();
  }

  void follow_plan(PointChooser& chooser) {
    const auto stopped = [this] { return rows_.stopped(); };
    while (!stopped() && rows_.has_all()) {
      const std::vector<std::size_t> chosen = chooser.next();
      if (chosen.empty()) {
        tasks_.end_plan();
        chosen_ = true;
        return;
      }
      if (!read_chips(spec_, plan_, chosen, {{}, request_.jobs, stopped}) || !tasks_.add(chosen, stopped)) return;
      evaluate(missing_rows());
    }
  }

  // Neighbours are chosen after the validation sample is simulated, which says how wide the band is.
  void escalate(const PointChooser& chooser) {
    using Stage = StoredMultiFidelity::Stage;
    StoredMultiFidelity state = spec_.multi_fidelity->asked;
    for (const Stage stage : {Stage::kFrontAndValidation, Stage::kNeighbours}) {
      if (rows_.stopped() || !rows_.has_all()) return;
      state.chosen = stage;
      const auto [points, chosen] = chooser.simulated(state);
      std::vector<Unit> all;
      for (const std::size_t task : tasks_.add_simulations(state, points, chosen)) {
        const std::vector<Unit> missing = rows_.expect(task);
        all.insert(all.end(), missing.begin(), missing.end());
      }
      rows_.report();
      evaluate(all);
    }
    escalated_ = true;
  }

  const SweepSpec& spec_;
  SweepPlan& plan_;
  StoreWriter& store_;
  const PlanRequest& request_;
  SweepTasks tasks_;
  RowWriter rows_;
  RowEvaluator evaluator_;
  bool chosen_ = false;        // all points that the plan chooses are there
  bool escalated_ = false;     // all that is chosen is simulated
  std::size_t searched_ = 0;   // tasks whose rows were looked for
  std::vector<Unit> missing_;  // rows at the beginning
  Clock::time_point start_;
  double start_cpu_seconds_ = 0;
};

}  // namespace

std::optional<SweepRun> sweep(const SweepRequest& request, const std::function<bool()>& stop,
                              const std::function<void(const SweepProgress&)>& tell, Diagnostics& diags) {
  const auto spec = read_sweep(request.file, request.jobs, diags);
  return run_sweep(spec ? &*spec : nullptr, request, stop, tell, diags);
}

std::optional<SweepRun> run_sweep(const SweepSpec* spec, const SweepRequest& request, const std::function<bool()>& stop,
                                  const std::function<void(const SweepProgress&)>& tell, Diagnostics& diags) {
  if (std::string why = why_no_file(request.store); !why.empty())  // before minutes of planning
    diags.error({diags.add_source(request.store)}, std::move(why));
  if (spec == nullptr || !diags.ok() || (request.shard && !check_shards(*spec, diags))) return std::nullopt;
  SweepRun out;
  const auto ended_before = [&]() -> std::optional<SweepRun> {
    if (!diags.ok()) return std::nullopt;
    out.stopped = true;
    return std::move(out);
  };
  const PlanRequest wanted{request.shard, request.jobs, stop};
  auto points = plan(*spec, wanted, diags);
  if (!points) return ended_before();
  const FilePrograms of_files = programs_of_files(*spec, diags);
  if (!diags.ok()) return std::nullopt;
  note_instructions(*spec, *points, diags);
  note_small_plan(*spec, *points, diags);
  {
    const auto shard = request.shard ? std::optional(ShardOfSweep{*request.shard, spec->title}) : std::nullopt;
    auto store = StoreWriter::open(request.store, request.tool_version, diags, shard);
    if (!store) return std::nullopt;
    const std::size_t memory = request.memory > 0 ? request.memory : quarter_of_memory();
    SweepRunner runner(*spec, *points, of_files, *store, memory, wanted, tell);
    std::function<void()> overdue;
    if (request.overdue)
      overdue = [&] {
        SweepRun ended;
        runner.describe(ended);
        Diagnostics own;
        auto state = stored_state(request.store, *spec, own);
        ended.planned = state.has_value();
        if (state) ended.state = std::move(*state);
        request.overdue(std::move(ended));
      };
    try {
      if (!runner.prepare()) return ended_before();
      runner.run(std::move(overdue));
    } catch (const DamagedError&) {
      throw;
    } catch (const StoreError& e) {
      throw StoreError(
          fmt::format("{}; what was committed before is kept, and the same command goes on from there", e.what()));
    }
    runner.describe(out);
    if (const std::uint64_t again = runner.recomputed(); again > 0 && !spec->choice.is_planned())
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

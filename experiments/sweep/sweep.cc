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
#include "experiments/sweep/detail/notes.h"
#include "experiments/sweep/detail/plan.h"
#include "experiments/sweep/detail/runner.h"
#include "experiments/sweep/detail/spec.h"
#include "experiments/sweep/detail/task.h"

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
  auto points = plan(*spec, {request.shard, request.jobs, stop}, diags);
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
    SweepRunner runner(*spec, *points, of_files, *store, memory, tell);
    Clock::time_point start;
    double start_cpu_seconds = 0;
    const auto add_efforts = [&](SweepRun& to) {
      to.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      to.cpu_seconds = process_cpu_seconds() - start_cpu_seconds;
      to.construct_cpu_seconds = runner.construct_cpu_seconds();
      to.computed = runner.computed();
      to.lost = runner.lost();
      to.stopped = !runner.complete();
    };
    std::function<void()> overdue;
    if (request.overdue)
      overdue = [&] {
        SweepRun ended;
        add_efforts(ended);
        Diagnostics own;
        auto state = stored_state(request.store, *spec, own);
        ended.planned = state.has_value();
        if (state) ended.state = std::move(*state);
        request.overdue(std::move(ended));
      };
    try {
      if (!runner.prepare(request.shard, stop)) return ended_before();
      start = Clock::now();
      start_cpu_seconds = process_cpu_seconds();
      runner.run(request.jobs, stop, std::move(overdue));
    } catch (const DamagedError&) {
      throw;
    } catch (const StoreError& e) {
      throw StoreError(
          fmt::format("{}; what was committed before is kept, and the same command goes on from there", e.what()));
    }
    add_efforts(out);
    if (const std::uint64_t again = runner.recomputed(); again > 0 && spec->choice.by == PointChoice::By::kGrid)
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

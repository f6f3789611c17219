// SPDX-License-Identifier: Apache-2.0
#include "experiments/microbench/measure.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/emit.h"
#include "base/check.h"
#include "experiments/measure/rows.h"
#include "experiments/measure/run.h"
#include "experiments/microbench/detail/kept_alive.h"
#include "experiments/microbench/detail/kernels.h"
#include "experiments/microbench/detail/points.h"
#include "targets/lowered.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

// A point, and its two tasks, the shorter one first; none where the chip cannot run it.
struct Planned {
  MicrobenchmarkRow row;
  double amount = 0;
  std::vector<PlanTask> tasks;
};

// One warp whose lanes follow a chain in memory, so that every load waits for the one before.
constexpr std::string_view kChase =
    R"(extern "C" __global__ void follow(const int* next, unsigned int steps, int* end) {
  int at = 0;
  for (unsigned int i = 0; i < steps; ++i) at = next[at];
  if (at < 0) *end = at;
}
)";

PlanTask task_of(const Planned& p, const char* part, const MeasureOptions& options) {
  PlanTask out;
  out.id = fmt::format("{} {} {}", p.row.curve, p.row.x, part);
  out.notes = {{"kind", "microbench"}, {"curve", p.row.curve}, {"x", fmt::format("{}", p.row.x)}, {"part", part}};
  out.remarks = {{"amount", fmt::format("{}", p.amount)}, {"unit", p.row.y_unit}};
  out.lines = timing_line(options.timing);
  return out;
}

std::string compiled(std::string_view text, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                     std::string& error) {
  cuda::DeviceCode code = compiler.compile(text, *a.target);
  error = code.error;
  return std::move(code.cubin);
}

// A chase of so many steps through all of the chain's links: what the longer one has more are `amount` steps.
void plan_chase(const lower::Module& shorter, const lower::Module& longer, Planned& p, const arch::ArchSpec& a,
                const cuda::DeviceCompiler& compiler, const MeasureOptions& options) {
  const ChaseShape shape[] = {chase_shape(shorter), chase_shape(longer)};
  const std::string cubin = compiled(kChase, a, compiler, p.row.error);
  for (const int part : {0, 1}) {
    PlanTask task = task_of(p, part == 0 ? "shorter" : "longer", options);
    task.cubin = cubin;
    task.lines =
        fmt::format("array A i32 {} chain {} {}\narray end i32 1 between\nlaunch follow 1 32 0 A {}u end\n",
                    shape[part].words, shape[part].step, shape[part].words / shape[part].links, shape[part].accesses) +
        task.lines;
    p.tasks.push_back(std::move(task));
  }
}

// Curves whose kernels load and store nothing: a compiler leaves the loads out. Kernels of the others store what they
// compute, or compute nothing.
bool only_reads(std::string_view curve) {
  constexpr std::string_view kOthers[] = {"copy_width", "padding", "dispatch", "mma_", "wgmma_"};
  return std::none_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view o) { return curve.starts_with(o); });
}

void plan_kernels(const Microbenchmark& b, Planned& p, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                  const MeasureOptions& options) {
  for (const auto& [module, part] : {std::pair(&b.shorter, "shorter"), {&b.longer, "longer"}}) {
    const lower::Module m = only_reads(p.row.curve) ? kept_alive(*module) : *module;
    base::Diagnostics diags;
    const auto emitted = targets::target_of(a).emit({m}, {}, cuda::Dialect::kCuda, diags, {});
    if (!emitted) {
      p.row.error = diags.sentences().front();
      return;
    }
    PlanTask task = task_of(p, part, options);
    task.cubin = compiled(emitted->text, a, compiler, p.row.error);
    task.lines = array_lines(m) + launch_lines(m, *emitted) + task.lines;
    p.tasks.push_back(std::move(task));
  }
}

Planned planned(const MicrobenchmarkPoint& point, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                const MeasureOptions& options) {
  Planned p;
  p.row = {std::string(point.curve.name),
           std::string(point.curve.x_unit),
           std::string(point.curve.y_unit),
           point.x,
           {},
           0,
           {}};
  base::Diagnostics diags;
  const auto bench = microbenchmark(point.curve.name, point.x, a, diags);
  if (bench) p.amount = bench->amount;
  if (!bench)
    p.row.error = diags.sentences().front();
  else if (point.curve.name == kLatencyCurve)
    plan_chase(bench->shorter, bench->longer, p, a, compiler, options);
  else
    plan_kernels(*bench, p, a, compiler, options);
  if (!p.row.error.empty()) {
    p.row.error = fmt::format("{} at {} {}: {}", p.row.curve, p.row.x, p.row.x_unit, p.row.error);
    p.tasks.clear();
  }
  return p;
}

// From the two times of a point; cycles are those of the clock that the core had then.
void fill_in(const base::Map& shorter, const base::Map& longer, double amount, const arch::ArchSpec& a,
             MicrobenchmarkRow& row) {
  for (const base::Map* part : {&shorter, &longer})
    if (const std::string error = text_in(*part, "error"); !error.empty())
      row.error = text_in(*part, "id") + ": " + error;
  const auto from = number_in(shorter, "measured_us"), to = number_in(longer, "measured_us");
  if (!from || !to) return;
  const double us = *to - *from, mhz = number_in(longer, "core_mhz").value_or(static_cast<double>(a.clock.n) / 1e6);
  if (row.y_unit == "ratio")
    row.y = *to / *from;
  else if (us <= 0)
    row.error = fmt::format("{} at {} {}: the longer kernel took no longer", row.curve, row.x, row.x_unit);
  else
    row.y = row.y_unit == "cycles" ? us * mhz / amount : row.y_unit == "ns" ? 1e3 * us / amount : amount / us / 1e3;
}

std::string source_of(const base::Map& kept) {
  return fmt::format("tilescope measure: {} with driver {}; {}", text_in(kept, "device"), text_in(kept, "driver"),
                     text_in(kept, "date"));
}

}  // namespace

std::optional<MeasuredCurves> measure_microbenchmarks(const std::vector<std::string>& wanted, const arch::ArchSpec& a,
                                                      const MeasureOptions& options, const api::Progress& progress,
                                                      base::Diagnostics& diags) {
  const auto points = microbenchmark_points(wanted, a, diags);
  auto device = points ? device_for(a, options.dry_run, diags) : std::nullopt;
  if (!device) return std::nullopt;
  const cuda::DeviceCompiler compiler;
  MeasuredCurves out;
  out.device = std::move(*device);
  out.csv = std::string(kMicrobenchmarkHeader) + "\n";
  std::vector<Planned> all;
  std::vector<PlanTask> tasks;
  // Each repeat begins with caches that hold nothing of the kernel, as a simulated one does; warm ones would find what
  // the repeat before left, and no curve were DRAM's. What caches serve is unaffected: the first lap through them drops
  // out of the difference of the two kernels.
  MeasureOptions cold = options;
  cold.timing.cold = true;
  for (const MicrobenchmarkPoint& point : *points) {
    all.push_back(planned(point, a, compiler, cold));
    tasks.insert(tasks.end(), all.back().tasks.begin(), all.back().tasks.end());
  }
  const RunTasks run = run_tasks(std::move(tasks), a, compiler, out.device, cold, progress, diags);
  out.finished = run.finished;
  std::size_t t = 0;
  for (Planned& p : all) {
    if (!p.tasks.empty()) {
      const auto &shorter = run.rows[t], &longer = run.rows[t + 1];
      t += p.tasks.size();
      if (shorter && longer) fill_in(*shorter, *longer, p.amount, a, p.row);
      if (p.row.y)
        out.csv += fmt::format("{},{},{},{},{:.6g},{},{}\n", a.name, p.row.curve, p.row.x, p.row.y_unit, *p.row.y,
                               text_in(*longer, "device"), source_of(*longer));
    }
    out.rows.push_back(std::move(p.row));
  }
  return out;
}

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/run.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/device_usage.h"
#include "backends/cuda/device/plan.h"
#include "backends/cuda/device/supervise.h"
#include "backends/cuda/process.h"
#include "base/check.h"
#include "experiments/measure/detail/device_check.h"
#include "experiments/measure/detail/gpu_worker.h"
#include "experiments/measure/rows.h"

namespace tilescope::experiments {
namespace {

constexpr const char* kNothing = "launch tilescope_nothing 1 32 0\n";

// The helper kernel that does nothing: the part of every time that is not the work.
PlanTask empty_task(const std::string& helpers, const MeasureTiming& timing) {
  return {"launch", {{"kind", "launch"}}, helpers, kNothing + timing_line(timing), {}};
}

// The distance of kernels that follow each other in the queue ("stream"), or in a graph of the driver.
PlanTask gap_task(const std::string& helpers, const MeasureTiming& timing, const std::string& how) {
  constexpr int kLaunches = 50;  // the host puts them on the queue while the device still reads through its cache
  return {"launch_gap_" + how,
          {{"kind", "launch_gap"}},
          helpers,
          kNothing + timing_line(timing) + fmt::format("loop {} {}\n", kLaunches, how),
          {}};
}

// The device at rest, before or after the programs whose energy is read.
PlanTask idle_task(const MeasureTiming& timing, const std::string& when) {
  return {"idle_" + when, {{"kind", "idle"}}, {}, energy_line(timing), {}};
}

}  // namespace

std::optional<base::Value> device_for(const arch::ArchSpec& a, bool dry_run, base::Diagnostics& diags) {
  const base::SourceId source = diags.add_source("measure");
  if (const std::string refusal = api::no_device_compiler(a); !refusal.empty()) {
    diags.error({source}, refusal);
    return std::nullopt;
  }
  if (dry_run) return base::Value();
  std::string text;
  if (run_gpu_worker({"--device"}, [&](const std::string& line) { text = line; }) != cuda::device::kDone) {
    diags.error({source}, "this machine cannot measure; --dry-run does all up to the launch");
    return std::nullopt;
  }
  auto device = base::read_json(text, source, diags);
  if (!device) return std::nullopt;
  const std::string* capability = device->find("capability")->get_if<std::string>();
  if (const std::string refusal = target_refusal(*a.target, *capability); !refusal.empty()) {
    diags.error({source}, refusal);
    return std::nullopt;
  }
  for (const std::string& difference : differences(a, *device)) diags.note({source}, difference);
  return device;
}

RunTasks run_tasks(std::vector<PlanTask> tasks, const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler,
                   const base::Value& device, const MeasureOptions& options, const api::Progress& progress,
                   base::Diagnostics& diags) {
  const cuda::DeviceCode helpers = compiler.compile(helper_text(), *a.target);
  base::check(helpers.ok(), helpers.error);
  const cuda::TemporaryFolder temporary;
  const std::string folder = options.plan.empty() ? temporary.file("plan") : options.plan;
  const std::size_t asked = tasks.size();
  if (options.timing.repeats > 0) {
    tasks.push_back(empty_task(helpers.cubin, options.timing));
    for (const char* how : {"stream", "graph"}) tasks.push_back(gap_task(helpers.cubin, options.timing, how));
  }
  const bool reads_energy = options.timing.energy_seconds > 0;
  if (reads_energy) {
    tasks.push_back(idle_task(options.timing, "after"));
    tasks.insert(tasks.begin(), idle_task(options.timing, "before"));
  }
  const auto first = static_cast<std::ptrdiff_t>(reads_energy ? 1 : 0),
             last = first + static_cast<std::ptrdiff_t>(asked);
  write_plan(folder, {{"chip", a.name}}, {{"command", options.command}}, helpers.cubin, tasks);

  std::vector<std::string> arguments = {plan_file(folder)};
  if (!options.rows.empty()) arguments.insert(arguments.end(), {"--rows", options.rows});
  if (options.dry_run) arguments.emplace_back("--check");
  std::string printed;
  std::size_t lines = 0;  // the device, then a row each
  const int status = run_gpu_worker(arguments, [&](const std::string& line) {
    if (lines > 0) printed += line + "\n";
    if (lines > 0) progress(lines, tasks.size());
    ++lines;
  });
  RunTasks out;
  out.rows.resize(tasks.size());
  out.finished = status == cuda::device::kDone;
  const api::NamedText kept = {options.rows, options.rows.empty() ? printed : cuda::file_bytes(options.rows)};
  const auto* entries = device.get_if<base::Map>();
  const std::string name = entries == nullptr ? std::string() : text_in(*entries, "device");
  const std::map<std::string, base::Map> rows = read_kept_rows(kept, diags, name);
  // A task's key is of all that the worker reads of it.
  std::vector<std::string> errors;
  const cuda::device::Plan plan = cuda::device::read_plan(cuda::file_bytes(plan_file(folder)), folder, errors);
  base::check(errors.empty(), errors.empty() ? "" : errors.front());
  for (std::size_t t = 0; t < plan.tasks.size(); ++t)
    if (const auto found = rows.find(plan.tasks[t].key); found != rows.end()) out.rows[t] = found->second;
  if (options.timing.repeats > 0)
    if (const auto& launch = out.rows[static_cast<std::size_t>(last)])
      out.launch_us = number_in(*launch, "measured_us");
  out.rows = {out.rows.begin() + first, out.rows.begin() + last};
  return out;
}

}  // namespace tilescope::experiments

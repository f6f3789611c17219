// SPDX-License-Identifier: Apache-2.0
#include "experiments/measure/measure.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/code.h"
#include "api/common/parallel.h"
#include "api/given.h"
#include "base/dtype.h"
#include "base/option.h"
#include "experiments/measure/detail/baselines.h"
#include "experiments/measure/plan.h"
#include "experiments/measure/rows.h"
#include "experiments/measure/run.h"
#include "model/common/estimate.h"
#include "targets/target.h"

namespace tilescope::experiments {
namespace {

constexpr std::pair<Baseline, std::string_view> kBaselines[] = {{Baseline::kCublas, "cublas"},
                                                                {Baseline::kCudnn, "cudnn"},
                                                                {Baseline::kCudnnImplicit, "cudnn-implicit"},
                                                                {Baseline::kCopy, "copy"}};

// A row and the tasks of the plan that it and its baselines become.
struct Prepared {
  MeasuredRow row;
  std::optional<PlanTask> task;
  std::vector<PlanTask> baselines;
};

// Makes tasks of programs; any number of threads may use one.
class Planner {
 public:
  // `small`: operators are scaled down.
  Planner(const arch::ArchSpec& a, const cuda::DeviceCompiler& compiler, const MeasureOptions& options, bool small)
      : arch_(a), compiler_(compiler), options_(options), small_(small), estimate_(targets::target_of(a).estimate(a)) {}

  Prepared prepare(const api::GivenProgram& given) const {
    Prepared out;
    out.row.id = given.id;
    out.row.kind = given.kind;
    out.row.rank = given.rank;
    out.row.errors = given.errors;
    if (!given.program || !given.errors.empty()) return out;
    if (const auto estimate = estimate_(*given.program, nullptr, {})) out.row.predicted_us = estimate->total_us;
    base::Diagnostics diags;
    auto code = api::code_of(*given.program, arch_, compiler_, diags, {diags.add_source(given.place)});
    base::append(out.row.errors, diags.formatted_errors());
    if (!code) return out;
    out.row.usage = std::move(code->usage);
    const lower::Module& module = code->module;
    if (lower::gathers(module)) {
      out.row.errors.push_back(given.place +
                               ": it reads by a table, and the inputs that a device is given are no indices");
      return out;
    }
    const std::vector<SampledOutput> outputs = sampled_outputs(*given.program, module, options_.samples);
    PlanTask& task = out.task.emplace();
    task.id = given.id;
    if (!given.kind.empty()) task.notes.emplace_back("kind", given.kind);
    task.notes.emplace_back("dtype", dtype_of(*given.program));
    if (small_) task.notes.emplace_back("scale", "small");
    task.notes.emplace_back("program", program_hash(*given.program, arch_));
    task.notes.emplace_back("registers", fmt::format("{}", out.row.usage->registers()));
    task.notes.emplace_back("spill_bytes", fmt::format("{}", out.row.usage->spill_bytes()));
    task.remarks.emplace_back("rank", fmt::format("{}", given.rank));
    if (std::any_of(outputs.begin(), outputs.end(), [](const SampledOutput& o) { return o.is_loose(); }))
      task.remarks.emplace_back("values_loose", "yes");
    if (out.row.predicted_us) task.remarks.emplace_back("predicted_us", fmt::format("{}", *out.row.predicted_us));
    task.cubin = std::move(code->cubin);
    task.lines = array_lines(module) + launch_lines(module, code->emitted) + check_lines(module, outputs) + timing();
    if (given.rank == 0) add_baselines(given, module, outputs, out);
    return out;
  }

 private:
  static std::string dtype_of(const tile::RProgram& p) {
    return std::string(base::name_of(p.space(0).expression.dtype));
  }

  std::string timing() const {
    return (options_.timing.repeats > 0 ? timing_line(options_.timing) : std::string()) + energy_line(options_.timing);
  }

  void add_baselines(const api::GivenProgram& given, const lower::Module& m, const std::vector<SampledOutput>& outputs,
                     Prepared& out) const {
    for (const Baseline b : options_.baselines)
      if (const auto lines = baseline_lines(b, *given.program, m, outputs)) {
        PlanTask& task = out.baselines.emplace_back();
        task.id = given.id;
        if (!given.kind.empty()) task.notes.emplace_back("kind", given.kind);
        task.notes.emplace_back("dtype", dtype_of(*given.program));
        if (small_) task.notes.emplace_back("scale", "small");
        task.notes.emplace_back("baseline", std::string(name_of(b)));
        task.remarks.emplace_back("operator", operator_text(*given.program));
        task.lines = *lines + timing();
      }
  }

  const arch::ArchSpec& arch_;
  const cuda::DeviceCompiler& compiler_;
  const MeasureOptions& options_;
  bool small_;
  targets::Estimator estimate_;
};

std::vector<Prepared> prepare_all(const std::vector<api::GivenProgram>& given, const Planner& planner, int jobs,
                                  const api::Progress& progress) {
  std::vector<Prepared> out(given.size());
  std::mutex one_at_a_time;
  std::size_t done = 0;
  api::parallel_for(given.size(), jobs, [&] {
    return [&](std::size_t i) {
      out[i] = planner.prepare(given[i]);
      const std::lock_guard lock(one_at_a_time);
      progress(++done, given.size());
    };
  });
  return out;
}

void fill_in(const base::Map& kept, MeasuredRow& row) {
  row.as_kept = kept;
  row.values = text_in(kept, "values");
  if (const auto us = number_in(kept, "measured_us"))
    row.measured = MeasuredTime{*us, number_in(kept, "low_us").value_or(*us), number_in(kept, "high_us").value_or(*us),
                                number_in(kept, "spread_ratio").value_or(0)};
  if (const std::string error = text_in(kept, "error"); !error.empty()) row.errors.push_back(row.id + ": " + error);
}

base::Value to_document(const MeasuredRow& r) {
  base::Map row = {{"id", r.id}};
  if (!r.kind.empty()) row.push_back({"kind", r.kind});
  if (r.baseline.empty())
    row.push_back({"rank", r.rank});
  else
    row.push_back({"baseline", r.baseline});
  if (r.predicted_us) row.push_back({"predicted_us", *r.predicted_us});
  if (r.usage) {
    row.push_back({"registers", r.usage->registers()});
    row.push_back({"spill_bytes", r.usage->spill_bytes()});
  }
  for (const base::Entry& e : r.as_kept)
    if (e.key != "error" && std::none_of(row.begin(), row.end(), [&](const base::Entry& o) { return o.key == e.key; }))
      row.push_back(e);
  if (r.measured && r.predicted_us) row.push_back({"error_ratio", *r.predicted_us / r.measured->us - 1});
  if (!r.errors.empty()) row.push_back({"error", fmt::format("{}", fmt::join(r.errors, "\n"))});
  return row;
}

}  // namespace

std::vector<std::string_view> baseline_names() {
  std::vector<std::string_view> out;
  for (const auto& [baseline, name] : kBaselines) out.push_back(name);
  return out;
}

std::string_view name_of(Baseline b) {
  return std::find_if(std::begin(kBaselines), std::end(kBaselines), [b](const auto& n) { return n.first == b; })
      ->second;
}

std::optional<Baseline> baseline_of(std::string_view name, base::Diagnostics& diags) {
  for (const auto& [baseline, known] : kBaselines)
    if (known == name) return baseline;
  const std::vector<std::string_view> names = baseline_names();
  diags.error(
      {diags.add_source(base::option("baseline"))},
      fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "), name, base::did_you_mean(name, names)));
  return std::nullopt;
}

std::optional<Measurement> measure(const api::ProgramSource& source, const arch::ArchSpec& a,
                                   const MeasureOptions& options, const api::Progress& progress,
                                   base::Diagnostics& diags) {
  const cuda::DeviceCompiler compiler;
  auto device = device_for(a, options.dry_run, diags);
  const auto given = device ? api::given_programs(source, a, options.jobs, diags) : std::nullopt;
  if (!given) return std::nullopt;
  Measurement out;
  out.device = std::move(*device);
  std::vector<PlanTask> tasks;
  std::vector<std::size_t> row_of_task;
  const auto add_task = [&](PlanTask& task) {
    tasks.push_back(std::move(task));
    row_of_task.push_back(out.rows.size() - 1);
  };
  for (Prepared& p :
       prepare_all(*given, Planner(a, compiler, options, source.workload.small), options.jobs, progress)) {
    out.rows.push_back(p.row);
    if (p.task) add_task(*p.task);
    for (PlanTask& baseline : p.baselines) {
      MeasuredRow row;
      row.id = baseline.id;
      row.kind = p.row.kind;
      row.baseline = baseline.notes.back().second;
      out.rows.push_back(std::move(row));
      add_task(baseline);
    }
  }
  const RunTasks run = run_tasks(std::move(tasks), a, compiler, out.device, options, progress, diags);
  out.finished = run.finished;
  out.launch_us = run.launch_us;
  for (std::size_t t = 0; t < run.rows.size(); ++t)
    if (run.rows[t]) fill_in(*run.rows[t], out.rows[row_of_task[t]]);
  return out;
}

base::Value to_document(const Measurement& m) {
  base::List rows;
  std::int64_t measured = 0, failed = 0, wrong = 0;
  for (const MeasuredRow& r : m.rows) {
    rows.push_back(to_document(r));
    measured += r.measured ? 1 : 0;
    failed += r.errors.empty() ? 0 : 1;
    wrong += r.values == "wrong" ? 1 : 0;
  }
  return base::Map{{"device", m.device},
                   {"rows", std::move(rows)},
                   {"summary", base::Map{{"launch_us", m.launch_us},
                                         {"rows", m.rows.size()},
                                         {"measured", measured},
                                         {"wrong", wrong},
                                         {"failed", failed}}}};
}

}  // namespace tilescope::experiments

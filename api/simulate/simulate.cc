// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/simulate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/from_model.h"
#include "api/given.h"
#include "api/given_kernels.h"
#include "api/operator_kind.h"
#include "api/sequence.h"
#include "api/simulate/simulated_programs.h"
#include "base/option.h"
#include "model/common/estimate.h"
#include "targets/lowered.h"
#include "targets/target.h"

namespace tilescope::api {

std::optional<double> SimulatedRow::model_error_ratio() const {
  if (!predicted_us || !simulation) return std::nullopt;
  return *predicted_us / simulation->simulated_us - 1;
}

std::optional<double> SimulatedRow::error_ratio() const {
  if (!measured_us || !simulation) return std::nullopt;
  return simulation->simulated_us / *measured_us - 1;
}

TimedOperator timed(const SimulatedRow& r) {
  TimedOperator out{r.count.value_or(1), {}, r.operations, {}};
  if (!r.simulation) return out;
  out.us = r.simulation->simulated_us;
  out.bound_by = longest_stall(*r.simulation).name;
  return out;
}

namespace {

// Says of which programs the times are lower bounds.
void note_lacking_registers(const std::vector<SimulatedRow>& rows, const arch::ArchSpec& a, base::Diagnostics& diags) {
  std::size_t lacking = 0;
  std::int64_t most = 0;
  for (const SimulatedRow& r : rows) {
    const std::int64_t own = r.simulation ? r.simulation->registers_lacking.value_or(0) : 0;
    lacking += own > 0 ? 1 : 0;
    most = std::max(most, own);
  }
  if (lacking == 0) return;
  diags.note({diags.add_source(a.name)},
             fmt::format("{} of {} programs lack up to {} registers a thread; spills or recomputation for them are not "
                         "simulated: their times are lower bounds",
                         lacking, rows.size(), most));
}

void take(SimulatedProgram done, const std::string& place, SimulatedRow& row) {
  row.cpu_seconds = done.cpu_seconds;
  row.peak_bytes = done.peak_bytes;
  row.simulation = std::move(done.simulation);
  row.timeline_until_us = done.timeline_until_us;
  if (!done.error.empty()) row.errors.push_back(place + ": " + done.error);
}

// Of a Kernel document: nothing predicts it.
std::optional<std::vector<SimulatedRow>> simulate_kernels(const NamedText& file, const arch::ArchSpec& a,
                                                          const SimulationHow& how,
                                                          const std::optional<TimelineRequest>& timeline,
                                                          const Progress& progress, base::Diagnostics& diags) {
  auto kernels = read_kernel_file(file, a, diags);
  if (!kernels) return std::nullopt;
  SimulatedRow row;
  row.id = file.name;
  if (kernels->computes) row.operations = operations_of(*kernels->computes);
  const targets::Lowered lowered{std::move(kernels->module)};
  std::vector<WorkerResult> results =
      run_in_workers(1, 1, [&](std::size_t) { return simulate_in_worker(lowered, a, how, timeline); }, progress);
  take(simulated_by(std::move(results.front()), a), file.name, row);
  std::vector<SimulatedRow> rows{std::move(row)};
  note_lacking_registers(rows, a, diags);
  return rows;
}

// Puts the times in the sequence into the rows of its programs, beside those of the programs alone.
void set_in_sequence(const Sequence& sequence, std::vector<SimulatedProgram> simulated,
                     const std::vector<std::size_t>& runnable, const std::vector<const tile::RProgram*>& programs,
                     const arch::ArchSpec& a, std::vector<SimulatedRow>& rows) {
  std::vector<const tile::RProgram*> of_rows(rows.size());
  for (std::size_t i = 0; i < runnable.size(); ++i) of_rows[runnable[i]] = programs[i];
  const auto estimates = sequence.estimates(of_rows, a);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    SimulatedRow& row = rows[r];
    row.inputs = sequence.inputs(r);
    row.cold_predicted_us = std::exchange(row.predicted_us, std::nullopt);
    row.predicted_band.reset();
    if (estimates[r]) {
      row.predicted_us = estimates[r]->total_us;
      row.predicted_band = band_of(*row.predicted_us, a, *of_rows[r]);
    }
    if (auto alone = std::exchange(row.simulation, std::nullopt)) row.cold_simulated_us = alone->simulated_us;
  }
  const bool failed = simulated.size() < runnable.size() || !simulated.front().error.empty();
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    SimulatedRow& row = rows[runnable[i]];
    if (failed) {
      row.errors.push_back("the sequence: " + simulated.front().error);
      continue;
    }
    row.cpu_seconds += simulated[i].cpu_seconds;
    row.peak_bytes = std::max(row.peak_bytes, simulated[i].peak_bytes);
    row.simulation = std::move(simulated[i].simulation);
  }
}

}  // namespace

bool check_scale(const SimulationHow& how, const arch::ArchSpec& a, base::Diagnostics& diags) {
  if (how.mode != SimulationMode::kScaled) return true;
  const std::string of_class = targets::why_unsupported(a, &targets::Target::scale_refusal);
  const std::string why = of_class.empty() ? targets::target_of(a).scale_refusal(a, how.scale) : of_class;
  if (!why.empty()) diags.error({diags.add_source(base::option(of_class.empty() ? "scale" : "mode scaled"))}, why);
  return why.empty();
}

std::optional<std::vector<SimulatedRow>> simulate(const ProgramSource& source, const arch::ArchSpec& a,
                                                  const SimulationHow& how, int jobs,
                                                  const std::optional<TimelineRequest>& timeline,
                                                  const Progress& progress, base::Diagnostics& diags) {
  if (source.kernels) return simulate_kernels(*source.kernels, a, how, timeline, progress, diags);
  if (source.workload.sequence && how.mode == SimulationMode::kScaled)
    diags.error({diags.add_source(base::option("sequence"))},
                fmt::format("caches of a part of a chip do not hold what a chip's do; needs {} full or sampled",
                            base::option("mode")));
  std::optional<Sequence> sequence;
  auto given = given_programs(source, a, jobs, diags, &sequence);
  if (!given || !diags.ok()) return std::nullopt;
  const targets::Estimator estimate_of = targets::target_of(a).estimate(a);
  std::vector<SimulatedRow> rows;
  std::vector<std::size_t> runnable;
  std::vector<const tile::RProgram*> programs;
  for (GivenProgram& g : *given) {
    if (g.program) {
      runnable.push_back(rows.size());
      programs.push_back(&*g.program);
    }
    SimulatedRow row;
    row.id = g.id;
    row.kind = g.kind;
    row.group = g.group;
    row.measured_us = g.measured_us;
    row.readable = g.program.has_value();
    row.errors = std::move(g.errors);
    row.count = g.count;
    if (g.program) row.operations = operations_of(*g.program);
    if (const auto estimate = g.program ? estimate_of(*g.program, nullptr, {}) : std::nullopt) {
      row.predicted_us = estimate->total_us;
      row.predicted_band = band_of(*row.predicted_us, a, *g.program);
    }
    rows.push_back(std::move(row));
  }
  // The sequence begins first, for it takes longest.
  std::vector<tile::RProgram> in_sequence;
  if (sequence)
    for (std::size_t i = 0; i < runnable.size(); ++i)
      in_sequence.push_back(sequence->with_arrays(runnable[i], *programs[i]));
  const std::size_t alone = sequence ? 1 : 0;
  std::vector<WorkerResult> answers = run_in_workers(
      alone + programs.size(), jobs,
      [&](std::size_t i) {
        if (i < alone) return simulate_sequence_in_worker(in_sequence, a, how);
        return simulate_in_worker(*programs[i - alone], a, how, i == alone ? timeline : std::nullopt);
      },
      progress);
  for (std::size_t i = 0; i < runnable.size(); ++i)
    take(simulated_by(std::move(answers[alone + i]), a), (*given)[runnable[i]].place, rows[runnable[i]]);
  if (sequence)
    set_in_sequence(*sequence, simulated_sequence(std::move(answers.front()), a), runnable, programs, a, rows);
  note_lacking_registers(rows, a, diags);
  return rows;
}

std::optional<Totals> totals_of(const std::vector<SimulatedRow>& rows) {
  auto out = totals_of(counted_programs(rows));
  if (out) out->simulated = true;
  return out;
}

std::vector<ErrorsOfKind> model_errors_by_kind(const std::vector<SimulatedRow>& rows) {
  std::vector<ErrorOfKind> errors;
  for (const SimulatedRow& r : rows)
    if (const auto e = r.model_error_ratio()) errors.push_back({r.kind, *e});
  return errors_by_kind(errors);
}

base::Value to_document(const std::vector<SimulatedRow>& rows, bool batch) {
  const auto total = totals_of(rows);
  base::Map out = {{batch ? "rows" : "operators", base::to_list(rows)}};
  base::Map summary;
  if (batch) {
    std::vector<double> errors;
    std::size_t failed = 0;
    for (const SimulatedRow& r : rows) {
      failed += r.errors.empty() ? 0 : 1;
      if (const auto e = r.error_ratio()) errors.push_back(*e);
    }
    summary = {{"rows", rows.size()}, {"simulated", rows.size() - failed}, {"failed", failed}};
    base::append(summary, to_entries(statistics_of(errors)));
  }
  if (total) (batch ? summary : out).push_back({"total", to_entries(*total)});
  if (batch) out.push_back({"summary", std::move(summary)});
  return out;
}

}  // namespace tilescope::api

#include "experiments/simulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/from_sim.h"
#include "experiments/given.h"
#include "experiments/timeline_file.h"
#include "experiments/workers.h"
#include "lower/lower.h"
#include "model/estimate.h"
#include "sim/simulate.h"

namespace tilescope::experiments {

Simulation simulation_of(const sim::SimReport& r) {
  Simulation s;
  s.simulated_us = r.time.v;
  s.cycles = r.cycles;
  for (const auto& [stall, cycles] : r.stalls) s.stalls.push_back({std::string(sim::name_of(stall)), cycles});
  for (const sim::LevelReport& l : r.levels)
    s.levels.push_back({l.name, l.amounts.read_bytes, l.amounts.written_bytes, l.amounts.requests,
                        l.amounts.transactions, l.amounts.hits});
  double simulated = 0;
  for (const sim::KernelReport& k : r.kernels) {
    s.blocks += k.blocks;
    simulated += k.simulated_steps_ratio * static_cast<double>(k.blocks);
    s.exact = s.exact && k.exact;
  }
  s.simulated_ratio = simulated / static_cast<double>(s.blocks);
  return s;
}

namespace {

// Of a worker's answer, beside what a simulation has.
constexpr const char* kTimelineUntil = "timeline_until_us";

// What a worker does: lowers the program itself, and simulates it.
std::string simulate_one(const tile::RProgram& program, const arch::ArchSpec& a, SimulationMode mode,
                         const std::optional<TimelineRequest>& request) {
  std::vector<std::string> why;
  const auto module = lower::lower(program, a, why);
  if (!module) throw std::runtime_error(fmt::format("{}", fmt::join(why, "; ")));
  sim::SimOptions options;
  options.mode = mode == SimulationMode::kFull ? sim::Mode::kFull : sim::Mode::kSampled;
  if (!request) return base::to_json(to_entries(simulation_of(sim::simulate(*module, a, options))));
  TimelineFile file(*request, a);
  sim::Timeline timeline(file.options(), file);
  options.timeline = &timeline;
  base::Map row = to_entries(simulation_of(sim::simulate(*module, a, options)));
  if (const auto until_us = file.finish(timeline)) row.push_back({kTimelineUntil, *until_us, {}});
  return base::to_json(std::move(row));
}

}  // namespace

std::optional<double> SimulatedRow::model_error_ratio() const {
  if (!predicted_us || !simulation) return std::nullopt;
  return *predicted_us / simulation->simulated_us - 1;
}

std::optional<std::vector<SimulatedRow>> simulate(const ProgramSource& source, const arch::ArchSpec& a,
                                                  SimulationMode mode, int jobs,
                                                  const std::optional<TimelineRequest>& timeline,
                                                  const Progress& progress, base::Diagnostics& diags) {
  auto given = given_programs(source, a, jobs, diags);
  if (!given) return std::nullopt;
  const model::Machine machine = model::make_machine(a);
  std::vector<SimulatedRow> rows;
  std::vector<std::size_t> runnable;
  for (GivenProgram& g : *given) {
    if (g.program) runnable.push_back(rows.size());
    SimulatedRow row{g.id, g.kind, g.group, g.measured_us, {}, {}, 0, 0, g.program.has_value(), std::move(g.errors),
                     {}};
    if (g.program)
      if (const auto estimate = model::estimate(*g.program, machine)) row.predicted_us = estimate->sum.total_us;
    rows.push_back(std::move(row));
  }
  const auto results = run_in_workers(
      runnable.size(), jobs,
      [&](std::size_t i) {
        return simulate_one(*(*given)[runnable[i]].program, a, mode, i == 0 ? timeline : std::nullopt);
      },
      progress);
  for (std::size_t i = 0; i < runnable.size(); ++i) {
    SimulatedRow& row = rows[runnable[i]];
    row.cpu_seconds = results[i].cpu_seconds;
    row.peak_bytes = results[i].peak_bytes;
    if (!results[i].error.empty()) {
      row.errors.push_back((*given)[runnable[i]].place + ": " + results[i].error);
      continue;
    }
    base::Diagnostics own;
    const auto document = base::read_json(results[i].text, own.add_source("worker"), own);
    if (!document) continue;
    row.simulation = simulation_of(*document);
    if (const base::Value* until = document->find(kTimelineUntil);
        until != nullptr && until->get_if<double>() != nullptr)
      row.timeline_until_us = *until->get_if<double>();
  }
  return rows;
}

std::vector<ErrorsOfKind> model_errors_by_kind(const std::vector<SimulatedRow>& rows) {
  std::vector<ErrorOfKind> errors;
  for (const SimulatedRow& r : rows)
    if (const auto e = r.model_error_ratio()) errors.push_back({r.kind, *e});
  return errors_by_kind(errors);
}

base::Value to_document(const std::vector<SimulatedRow>& rows, bool batch) {
  base::List list;
  std::size_t failed = 0;
  for (const SimulatedRow& r : rows) {
    base::Map row = {{"id", r.id, {}}};
    if (!r.kind.empty()) row.push_back({"kind", r.kind, {}});
    if (!r.group.empty()) row.push_back({"group", r.group, {}});
    if (r.predicted_us) row.push_back({"predicted_us", *r.predicted_us, {}});
    if (r.simulation)
      for (base::Entry& e : to_entries(*r.simulation)) row.push_back(std::move(e));
    if (r.measured_us) row.push_back({"measured_us", *r.measured_us, {}});
    if (r.measured_us && r.simulation)
      row.push_back({"error_ratio", r.simulation->simulated_us / *r.measured_us - 1, {}});
    if (!r.errors.empty()) row.push_back({"error", fmt::format("{}", fmt::join(r.errors, "\n")), {}});
    failed += r.errors.empty() ? 0 : 1;
    list.emplace_back(std::move(row));
  }
  if (!batch) return base::Map{{"operators", std::move(list), {}}};
  base::Map summary = {{"rows", static_cast<std::int64_t>(rows.size()), {}},
                       {"simulated", static_cast<std::int64_t>(rows.size() - failed), {}},
                       {"failed", static_cast<std::int64_t>(failed), {}}};
  std::vector<double> errors;
  for (const SimulatedRow& r : rows)
    if (r.measured_us && r.simulation) errors.push_back(r.simulation->simulated_us / *r.measured_us - 1);
  for (base::Entry& e : to_entries(statistics_of(errors))) summary.push_back(std::move(e));
  return base::Map{{"rows", std::move(list), {}}, {"summary", std::move(summary), {}}};
}

}  // namespace tilescope::experiments

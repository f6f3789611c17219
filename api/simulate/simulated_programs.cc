// SPDX-License-Identifier: Apache-2.0
#include "api/simulate/simulated_programs.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/counted.h"
#include "api/simulate/detail/from_sim.h"
#include "api/simulate/detail/timeline_file.h"
#include "arch/hierarchy.h"
#include "base/check.h"
#include "sim/common/report.h"
#include "targets/lowered.h"
#include "targets/target.h"

namespace tilescope::api {

std::int64_t default_scale() { return sim::kDefaultScale; }

Simulation simulation_of(const sim::SimReport& r, const arch::ArchSpec& a, const energy::TimeAt& time_at) {
  Simulation s;
  s.simulated_us = r.time.v;
  s.cycles = r.cycles;
  for (const sim::StallReport& stall : r.stalls) s.stalls.push_back({stall.name, stall.cycles});
  for (const sim::LevelReport& l : r.levels)
    s.levels.push_back({l.name, l.amounts.read_bytes, l.amounts.written_bytes, l.amounts.requests,
                        l.amounts.transactions, l.amounts.hits});
  double simulated = 0;
  for (const sim::KernelReport& k : r.kernels) {
    s.blocks += k.blocks;
    simulated += k.simulated_steps_ratio * static_cast<double>(k.blocks);
    s.exact = s.exact && k.exact;
    if (k.registers_lacking > s.registers_lacking.value_or(0)) s.registers_lacking = k.registers_lacking;
  }
  s.simulated_ratio = simulated / static_cast<double>(s.blocks);
  if (!r.counts.levels.empty()) {
    s.counts = work_counts_of(r.counts, a);
    s.energy = energy_row_of(r.counts, r.time.v, a, time_at, s.no_energy, kNearLimitSimulated);
  }
  if (!r.scaled) return s;
  const sim::ScaledReport& of = *r.scaled;
  ScaledSimulation& scaled = s.scaled.emplace();
  scaled.scale = of.scale;
  scaled.mode = of.refused.empty() ? "scaled" : "sampled";
  if (of.validation > 0) scaled.times = {of.time.v, of.validation, of.validation_time.v};
  if (!of.refused.empty()) scaled.refused = of.refused;
  return s;
}

namespace {

// Of a worker's answer, beside what a simulation has.
constexpr const char* kTimelineUntil = "timeline_until_us";
constexpr const char* kPlace = "place";              // of the fastest of several programs
constexpr const char* kSimulations = "simulations";  // of a sequence

targets::Lowered lowered(const tile::RProgram& program, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  auto out = targets::target_of(a).lower(program, a, diags, {});
  if (!out) throw std::runtime_error(fmt::format("{}", fmt::join(diags.sentences(), "; ")));
  return std::move(*out);
}

sim::Mode mode_of(SimulationMode m) {
  switch (m) {
    case SimulationMode::kFull:
      return sim::Mode::kFull;
    case SimulationMode::kSampled:
      return sim::Mode::kSampled;
    case SimulationMode::kScaled:
      return sim::Mode::kScaled;
  }
  base::check(false, "every mode is one of the simulator's");
  return sim::Mode::kFull;
}

sim::SimOptions options_of(const SimulationHow& how) {
  sim::SimOptions options;
  options.mode = mode_of(how.mode);
  options.scale = how.scale;
  return options;
}

// The simulated time on the same chip with its cores at another clock; empty if `how` does not ask for it.
energy::TimeAt time_at_clocks(const targets::Lowered& lowered, const arch::ArchSpec& a, const SimulationHow& how) {
  if (!how.judges_limit) return {};
  return [&lowered, &a, how](arch::Hertz clock) {
    arch::ArchSpec slower = a;
    slower.clock = clock;
    return targets::target_of(slower).simulate(lowered, slower, options_of(how)).time.v;
  };
}

}  // namespace

std::string simulate_in_worker(const tile::RProgram& program, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& request) {
  return simulate_in_worker(lowered(program, a), a, how, request);
}

std::string simulate_fastest_in_worker(const std::vector<const tile::RProgram*>& programs, const arch::ArchSpec& a,
                                       const SimulationHow& how) {
  sim::SimOptions options = options_of(how);
  std::optional<Simulation> fastest;
  std::size_t place = 0;
  std::exception_ptr refused;
  for (std::size_t i = 0; i < programs.size(); ++i) try {
      Simulation own = simulation_of(targets::target_of(a).simulate(lowered(*programs[i], a), a, options), a);
      if (!fastest || own.simulated_us < fastest->simulated_us) fastest = std::move(own), place = i;
    } catch (const std::runtime_error&) {
      refused = std::current_exception();
    }
  if (!fastest) std::rethrow_exception(refused);
  base::Map row = to_entries(*fastest);
  row.push_back({kPlace, place});
  return base::to_json(std::move(row));
}

std::string simulate_sequence_in_worker(const std::vector<tile::RProgram>& programs, const arch::ArchSpec& a,
                                        const SimulationHow& how) {
  const targets::Target& target = targets::target_of(a);
  std::vector<targets::Lowered> all;
  for (const tile::RProgram& p : programs) all.push_back(lowered(p, a));
  const sim::SimOptions options = options_of(how);
  const sim::SimReport report = target.simulate(target.join(all), a, options);
  base::List simulations;
  auto next = report.kernels.begin();
  for (const targets::Lowered& p : all) {
    sim::SimReport own;
    for (std::size_t k = 0; k < p.module().kernels.size(); ++k) sim::add(own, *next++);
    simulations.emplace_back(to_entries(simulation_of(own, a)));
  }
  return base::to_json(base::Map{{kSimulations, std::move(simulations)}});
}

std::string simulate_in_worker(const targets::Lowered& lowered, const arch::ArchSpec& a, const SimulationHow& how,
                               const std::optional<TimelineRequest>& request) {
  const targets::Target& target = targets::target_of(a);
  sim::SimOptions options = options_of(how);
  const energy::TimeAt time_at = time_at_clocks(lowered, a, how);
  if (!request) return base::to_json(to_entries(simulation_of(target.simulate(lowered, a, options), a, time_at)));
  TimelineFile file(*request, a);
  sim::Timeline timeline(file.options(), file);
  options.timeline = &timeline;
  base::Map row = to_entries(simulation_of(target.simulate(lowered, a, options), a, time_at));
  if (const auto until_us = file.finish(timeline)) row.push_back({kTimelineUntil, *until_us});
  return base::to_json(std::move(row));
}

void name_library(WorkerResult& answer, const arch::ArchSpec& a) {
  const arch::DramLevel* const dram = arch::dram_of(a);
  if (!answer.died || dram == nullptr || !dram->model) return;
  answer.error += fmt::format("; it ran the library '{}' ({})", dram->model_path, dram->model_place);
}

namespace {

std::optional<base::Value> document_of(const WorkerResult& r) {
  base::Diagnostics own;
  return r.error.empty() ? base::read_json(r.text, own.add_source("worker"), own) : std::nullopt;
}

SimulatedProgram without_simulation(WorkerResult r) {
  SimulatedProgram out;
  out.cpu_seconds = r.cpu_seconds;
  out.peak_bytes = r.peak_bytes;
  out.error = std::move(r.error);
  out.died = r.died;
  return out;
}

Simulation read_simulation(const base::Value& document) {
  auto simulation = base::row_of<Simulation>(document);
  base::check(simulation.has_value(), "a worker writes a simulation");
  return std::move(*simulation);
}

}  // namespace

std::vector<SimulatedProgram> simulated_sequence(WorkerResult r, const arch::ArchSpec& a) {
  name_library(r, a);
  const auto document = document_of(r);
  SimulatedProgram of_all = without_simulation(std::move(r));
  std::vector<SimulatedProgram> out;
  if (document)
    for (const base::Value& simulation : *document->find(kSimulations)->get_if<base::List>())
      out.emplace_back().simulation = read_simulation(simulation);
  if (out.empty()) return {std::move(of_all)};
  out.front().cpu_seconds = of_all.cpu_seconds;
  out.front().peak_bytes = of_all.peak_bytes;
  return out;
}

std::pair<std::size_t, SimulatedProgram> fastest_by(WorkerResult answer, const arch::ArchSpec& a) {
  const auto document = document_of(answer);
  const base::Value* place = document ? document->find(kPlace) : nullptr;
  const std::int64_t* number = place == nullptr ? nullptr : place->get_if<std::int64_t>();
  return {number == nullptr ? 0 : static_cast<std::size_t>(*number), simulated_by(std::move(answer), a)};
}

SimulatedProgram simulated_by(WorkerResult r, const arch::ArchSpec& a) {
  name_library(r, a);
  const auto document = document_of(r);
  SimulatedProgram p = without_simulation(std::move(r));
  if (document) {
    p.simulation = read_simulation(*document);
    const base::Value* until = document->find(kTimelineUntil);
    if (until != nullptr && until->get_if<double>() != nullptr) p.timeline_until_us = *until->get_if<double>();
  }
  return p;
}

std::vector<SimulatedProgram> simulate_programs(const std::vector<const tile::RProgram*>& programs,
                                                const arch::ArchSpec& a, const SimulationHow& how, int jobs,
                                                const Progress& progress,
                                                const std::optional<TimelineRequest>& timeline) {
  std::vector<WorkerResult> results = run_in_workers(
      programs.size(), jobs,
      [&](std::size_t i) { return simulate_in_worker(*programs[i], a, how, i == 0 ? timeline : std::nullopt); },
      progress);
  std::vector<SimulatedProgram> out;
  for (WorkerResult& r : results) out.push_back(simulated_by(std::move(r), a));
  return out;
}

}  // namespace tilescope::api

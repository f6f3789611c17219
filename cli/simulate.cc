// SPDX-License-Identifier: Apache-2.0
// tilescope simulate: programs on the simulated chip, beside what the model predicts.

#include "api/simulate/simulate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/energy_table.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/total_columns.h"
#include "cli/usage.h"
#include "experiments/microbench/simulate.h"

namespace tilescope::cli {
namespace {

using api::SimulatedRow;
using api::Simulation;

struct SimulateOptions {
  ArchOptions arch;
  ProgramOptions programs;
  MicrobenchmarkOption microbench;
  std::string mode = "sampled";
  std::int64_t scale = api::default_scale();
  CLI::Option* scale_given = nullptr;
  api::TimelineWords timeline;
  std::string bands;
  int jobs = 0;
  bool energy = false, json = false, legend = false;
};

std::string megabytes(std::int64_t bytes) { return fmt::format("{:.4g}", static_cast<double>(bytes) / 1e6); }

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string time_or_dash(std::optional<double> us) { return us ? time_text(*us) : "-"; }

// One program in full: where its cycles go and what every level moves.
void print_one(const SimulatedRow& row, const arch::ArchSpec& a) {
  const Simulation& s = *row.simulation;
  fmt::print("{} on {}: simulated {} ({} cycles)", row.id, a.name, time_text(s.simulated_us), s.cycles);
  if (const auto e = row.model_error_ratio())
    fmt::print(", predicted {} ({})", time_text(*row.predicted_us), percent_text(*e));
  fmt::print("; {}\n",
             s.exact ? "every step was run"
                     : fmt::format("{:.1f} % of the steps were run, the rest is steady", 100 * s.simulated_ratio));
  Table stalls({{"stall reason"}, {"cycles", true}, {"share", true}});
  for (const api::StallRow& r : s.stalls) stalls.add({r.name, fmt::format("{}", r.cycles), share(r.cycles, s.cycles)});
  stalls.print();
  Table levels(
      {{"level"}, {"MB read", true}, {"MB written", true}, {"requests", true}, {"transactions", true}, {"hits", true}});
  for (const api::SimulatedLevel& l : s.levels)
    levels.add({l.name, megabytes(l.read_bytes), megabytes(l.written_bytes), fmt::format("{}", l.requests),
                fmt::format("{}", l.transactions), share(l.hits, l.transactions)});
  levels.print();
}

void print_errors(const std::vector<SimulatedRow>& rows) {
  const auto kinds = api::model_errors_by_kind(rows);
  if (kinds.empty()) return;
  fmt::print("\nthe model against the simulator: mean of |error|, and of the error\n");
  Table table({{"kind"}, {"programs", true}, {"mean |error|", true}, {"mean error", true}});
  for (const auto& [kind, e] : kinds)
    table.add({kind, fmt::format("{}", e.compared), share_text(e.mape_ratio), percent_text(e.bias_ratio)});
  table.print();
}

// Of all rows with a time in the sequence, each as often as it occurs; nullopt where one has none after empty caches.
std::optional<double> cold_total(const std::vector<SimulatedRow>& rows, std::optional<double> SimulatedRow::* us) {
  double sum = 0;
  for (const SimulatedRow& r : rows) {
    if (!r.simulation) continue;
    if (!(r.*us)) return std::nullopt;
    sum += static_cast<double>(r.count.value_or(1)) * *(r.*us);
  }
  return sum;
}

// A row a program: predicted beside simulated, and what both say binds.
void print_rows(const std::vector<SimulatedRow>& rows, bool batch) {
  const bool measured =
      std::any_of(rows.begin(), rows.end(), [](const SimulatedRow& r) { return r.measured_us.has_value(); });
  const TotalColumns totals(rows);
  std::vector<Column> columns = {{"id"}, {"kind", false, 3}};
  totals.add_count(columns);
  const bool sequence =
      std::any_of(rows.begin(), rows.end(), [](const SimulatedRow& r) { return r.cold_predicted_us.has_value(); });
  if (sequence)
    columns.insert(columns.end(), {{"inputs", false, 1}, {"predicted cold", true}, {"simulated cold", true}});
  columns.insert(columns.end(), {{"predicted", true}, {"simulated", true}, {"model's error", true, 1}});
  if (measured) columns.insert(columns.end(), {{"measured", true}, {"simulator's error", true, 1}});
  if (!batch) totals.add_rates(columns);
  columns.insert(columns.end(), {{"top stall"}, {"of cycles", true, 1}, {"steps run", true, 2}});
  Table table(columns);
  double cpu_seconds = 0;
  std::size_t done = 0, peak = 0;
  double predicted_us = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SimulatedRow& r = rows[i];
    cpu_seconds += r.cpu_seconds;
    peak = std::max(peak, r.peak_bytes);
    if (!r.simulation) continue;
    predicted_us += static_cast<double>(r.count.value_or(1)) * r.predicted_us.value_or(0);
    ++done;
    const Simulation& s = *r.simulation;
    const api::StallRow& longest = api::longest_stall(s);
    std::vector<std::string> cells = {r.id, r.kind};
    totals.add_count(cells, i);
    if (sequence)
      cells.insert(cells.end(), {r.inputs, time_or_dash(r.cold_predicted_us), time_or_dash(r.cold_simulated_us)});
    cells.insert(cells.end(), {time_or_dash(r.predicted_us), time_text(s.simulated_us),
                               r.model_error_ratio() ? percent_text(*r.model_error_ratio()) : "-"});
    if (measured) {
      cells.push_back(time_or_dash(r.measured_us));
      cells.push_back(r.measured_us ? percent_text(*r.error_ratio()) : "-");
    }
    if (!batch) totals.add_rates(cells, i);
    cells.push_back(longest.name);
    cells.push_back(share(longest.cycles, s.cycles));
    cells.push_back(s.exact ? "all" : share_text(s.simulated_ratio));
    table.add(cells);
  }
  if (!batch && done > 0) {
    std::vector<std::string> cells = {totals.name(), ""};
    if (totals.counted()) cells.push_back(totals.count());
    if (sequence)
      cells.insert(cells.end(), {"", time_or_dash(cold_total(rows, &SimulatedRow::cold_predicted_us)),
                                 time_or_dash(cold_total(rows, &SimulatedRow::cold_simulated_us))});
    const double us = totals.totals().us;
    cells.insert(cells.end(), {predicted_us > 0 ? time_text(predicted_us) : "-", time_text(us),
                               predicted_us > 0 ? percent_text(predicted_us / us - 1) : "-", "100 %", totals.rate(),
                               totals.bound_by()});
    table.add(cells);
  }
  table.print();
  if (const auto total = batch ? api::totals_of(rows) : std::nullopt) print_totals(*total);
  fmt::print("\n{} of {} programs simulated in {:.0f} s of CPU time, {} MB at most\n", done, rows.size(), cpu_seconds,
             peak >> 20);
  print_errors(rows);
}

void print_energy(const std::vector<SimulatedRow>& rows) {
  EnergyTable table("id", "simulated");
  for (const SimulatedRow& r : rows)
    if (const auto& s = r.simulation) table.add(r.id, s->simulated_us, s->energy, s->no_energy);
  table.print();
}

std::optional<api::SimulationMode> mode_of(const std::string& name, base::Diagnostics& diags) {
  const auto& names = api::kSimulationModes;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<api::SimulationMode>(found - names.begin());
  diags.error({diags.add_source("--mode")}, fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "), name,
                                                        base::did_you_mean(name, {names.begin(), names.end()})));
  return std::nullopt;
}

std::optional<std::vector<SimulatedRow>> simulate(const api::ProgramSource& source, const arch::ArchSpec& a,
                                                  const api::SimulationHow& how, int jobs,
                                                  const std::optional<api::TimelineRequest>& timeline,
                                                  base::Diagnostics& diags) {
  Progress progress("programs");
  return api::simulate(
      source, a, how, jobs, timeline, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
}

void add_timeline(CLI::App& command, api::TimelineWords& words) {
  CLI::Option* file = command
                          .add_option("--timeline", words.file,
                                      "A file that shows what happened when, of one program; "
                                      "open it in ui.perfetto.dev or chrome://tracing")
                          ->check(some_text());
  const auto add = [&](const char* option, auto& value, const char* what) {
    return command.add_option(option, value, what)->needs(file);
  };
  add("--timeline-cores", words.cores, "Whose warps and ports it shows: 0-3,8 or all; 0-3 where nothing is said");
  add("--timeline-from", words.from, "What ended before is left out: 20us");
  add("--timeline-until", words.until, "What began later is left out: 40us");
  add("--timeline-events", words.max_events, "It ends once it holds so many")
      ->check(whole_number(1, 1'000'000'000))
      ->capture_default_str();
}

std::optional<std::vector<experiments::MicrobenchmarkRow>> measure_simulated(const SimulateOptions& o,
                                                                             const arch::ArchSpec& a,
                                                                             base::Diagnostics& diags) {
  Progress progress("points");
  return experiments::run_microbenchmarks(
      o.microbench.curves(), a, o.jobs, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
}

int run_microbenchmarks(const SimulateOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  if (!diags.ok()) return report(diags);
  const auto rows = measure_simulated(o, *a, diags);
  if (!rows) return report(diags);
  bool every = true;
  Table table({{"curve"}, {"x", true}, {"of"}, {"simulated", true}, {"unit"}});
  for (const experiments::MicrobenchmarkRow& r : *rows) {
    every = every && r.error.empty();
    if (!r.error.empty()) fmt::print(stderr, "{}\n", r.error);
    if (r.y) table.add({r.curve, fmt::format("{:g}", r.x), r.x_unit, fmt::format("{:.4g}", *r.y), r.y_unit});
  }
  if (o.json)
    print_json(experiments::to_document(*rows, *a));
  else
    table.print();
  return every ? kDone : kFailed;
}

int run(const SimulateOptions& o) {
  base::Diagnostics diags;
  const auto mode = mode_of(o.mode, diags);
  if (mode && *mode != api::SimulationMode::kScaled && o.scale_given->count() > 0)
    diags.error({diags.add_source("--scale")}, "needs --mode scaled");
  if (mode == api::SimulationMode::kScaled && !o.timeline.file.empty())
    diags.error({diags.add_source("--timeline")}, "shows all of a chip, so it needs --mode full or sampled");
  auto a = o.arch.load_for(&targets::Target::simulate, diags);
  use_bands(o.bands, a, diags);
  const auto source = o.programs.read(diags);
  std::optional<api::TimelineRequest> timeline;
  if (a && !o.timeline.file.empty()) timeline = api::timeline_request(o.timeline, *a, diags);
  api::SimulationHow how(mode.value_or(api::SimulationMode::kSampled), o.scale);
  how.judges_limit = o.energy;
  if (o.energy && a) check_energy(*a, diags);
  if (a) api::check_scale(how, *a, diags);
  if (!diags.ok()) return report(diags);
  const auto rows = simulate(*source, *a, how, o.jobs, timeline, diags);
  if (!rows) return report(diags);
  report_notes(diags);
  bool every = true;
  for (const SimulatedRow& r : *rows) {
    if (r.simulation && r.simulation->scaled && r.simulation->scaled->refused)
      fmt::print(stderr, "note: {}: --mode scaled refuses itself: {}; simulated in mode sampled\n", r.id,
                 *r.simulation->scaled->refused);
    every = every && r.errors.empty();
    for (const std::string& e : r.errors) fmt::print(stderr, "{}\n", e);
    if (r.timeline_until_us)
      fmt::print(stderr,
                 "note: {} ends at {:.6g} us, where it holds {} events; fewer cores, --timeline-from or "
                 "--timeline-events show more of the program\n",
                 o.timeline.file, *r.timeline_until_us, o.timeline.max_events);
  }
  if (o.json)
    print_json(api::to_document(*rows, o.programs.is_batch()), diags);
  else if (o.programs.is_one() && every)
    print_one(rows->front(), *a);
  else if (!o.programs.is_one())
    print_rows(*rows, o.programs.is_batch());
  if (o.energy && !o.json) print_energy(*rows);
  if (!o.json) print_legend(o.legend);
  if (every) return kDone;
  const bool readable = std::all_of(rows->begin(), rows->end(), [](const SimulatedRow& r) { return r.readable; });
  return o.programs.is_batch() && !readable ? kBadInput : kFailed;
}

}  // namespace

void add_simulate(CLI::App& app, int& status) {
  auto o = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate programs on the chip's memory hierarchy");
  o->arch.add_to(*command);
  o->programs.add_to(*command, ProgramOptions::kBatches, ProgramOptions::kKernels);
  o->programs.add_sequence(*command);
  command
      ->add_option("--mode", o->mode,
                   "How much is simulated: full, every step; sampled, what is steady is extrapolated; "
                   "scaled, a part of the chip, likewise")
      ->capture_default_str();
  o->scale_given =
      command
          ->add_option("--scale", o->scale, "Of --mode scaled: one of so many cores, slices and channels is simulated")
          ->check(whole_number(1, 1'000'000'000))
          ->capture_default_str();
  o->microbench.add_to(*command,
                       "Curves that one measures on a chip, with points where others than the "
                       "usual are meant (latency:4,64,1024)");
  add_timeline(*command, o->timeline);
  command
      ->add_flag(
          "--energy", o->energy,
          "Also power and energy, and the clock that the board's power limit leaves, for which programs above it "
          "are simulated at other clocks too")
      ->excludes("--sequence", "--microbench");
  add_bands(*command, o->bands);
  add_legend(*command, o->legend);
  add_jobs(*command, o->jobs);
  add_json(*command, o->json);
  command->callback([o, &status] {
    if (o->microbench.given()) {
      status = run_microbenchmarks(*o);
      return;
    }
    o->programs.require_one();
    if (!o->timeline.file.empty()) o->programs.require_one_for("--timeline");
    status = run(*o);
  });
}

}  // namespace tilescope::cli

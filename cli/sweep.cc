// SPDX-License-Identifier: Apache-2.0
// tilescope sweep: chips of a sweep's file into a store, and the best of them.

#include "experiments/sweep/sweep.h"

#include <csignal>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/sweep_tables.h"
#include "cli/usage.h"
#include "experiments/common/code_version.h"

namespace tilescope::cli {
namespace {

using experiments::SweepRun;

struct Options {
  experiments::SweepRequest request;
  bool json = false, schema = false;
};

volatile std::sig_atomic_t interrupted = 0;

// The first Ctrl-C, or the first SIGTERM of a batch system, ends the sweep in good order, a second one at once.
void end_in_good_order() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int print_schema() {
  const std::string path = experiments::sweep_schema_path();
  base::Diagnostics diags;
  const auto text = base::read_file(path, diags.add_source(path), diags);
  if (!text) return report(diags);
  fmt::print("{}", *text);
  return kDone;
}

base::Value to_document(const SweepRun& run, const std::string& store) {
  base::Map out = {{"store", store, {}}};
  base::Value state = experiments::to_document(run.state);
  base::append(out, std::move(*state.get_if<base::Map>()));
  base::append(out, base::Map{{"computed", static_cast<std::int64_t>(run.computed), {}},
                              {"stopped", run.stopped, {}},
                              {"seconds", run.seconds, {}},
                              {"cpu_seconds", run.cpu_seconds, {}},
                              {"construct_cpu_seconds", run.construct_cpu_seconds, {}}});
  return out;
}

// "5950 rows computed in 11.2 s, 22.1 s of CPU time, 98 % of it construction".
std::string effort_of(const SweepRun& run) {
  if (run.computed == 0) return run.stopped ? "nothing was computed" : "nothing was left to compute";
  std::string out =
      fmt::format("{} rows computed in {:.3g} s, {:.3g} s of CPU time", run.computed, run.seconds, run.cpu_seconds);
  if (run.construct_cpu_seconds > 0)
    out += fmt::format(", {:.1f} % of it construction", 100 * run.construct_cpu_seconds / run.cpu_seconds);
  return out;
}

std::optional<SweepRun> run_sweep(const Options& o, base::Diagnostics& diags) {
  std::optional<Progress> progress, simulations;  // each begins with its first row
  return experiments::sweep(
      o.request, [] { return interrupted != 0; },
      [&](const experiments::SweepProgress& p) {
        if (p.simulations_all > 0) {
          progress.reset();
          if (!simulations) simulations.emplace("simulations");
          return simulations->update(p.simulations_done, p.simulations_all, {}, p.simulations_known);
        }
        if (!progress) progress.emplace("points");
        progress->update(p.points_done, p.points_all, p.best ? "best so far " + *p.best : std::string(),
                         p.points_known);
      },
      diags);
}

int run(const Options& o) {
  end_in_good_order();
  base::Diagnostics diags;
  const auto done = run_sweep(o, diags);
  if (!done) return report(diags);
  report_notes(diags);
  const experiments::SweepState& state = done->state;
  if (o.json) {
    print_json(to_document(*done, o.request.store), diags);
  } else {
    fmt::print("{}; {}\n", heading_of(state), effort_of(*done));
    print_best(state);
    print_escalation(state);
  }
  print_reasons(state);
  for (const std::string& lost : done->lost) fmt::print(stderr, "{}; the row is not kept\n", lost);
  if (done->stopped)
    fmt::print(stderr, "ended at {} of {} rows; tilescope sweep {} --store {} goes on from there\n", state.rows_done,
               state.rows, o.request.file, o.request.store);
  return done->stopped || state.rows_failed > 0 ? kFailed : kDone;
}

}  // namespace

void add_sweep(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  o->request.tool_version = fmt::format("{}+{}", TILESCOPE_VERSION, experiments::results_version());
  CLI::App* command = app.add_subcommand("sweep", "Ask many chips, each with its own programs, into a store");
  CLI::Option* file =
      command->add_option("SPEC", o->request.file, "The sweep's file, YAML (docs/sweep.md)")->check(some_text());
  CLI::Option* store = command
                           ->add_option("--store", o->request.store,
                                        "The store, one SQLite file: made where it is not there, else gone on with")
                           ->check(some_text());
  CLI::Option* schema =
      command->add_flag("--schema", o->schema, "Print the JSON Schema of sweep files, and nothing else");
  schema->excludes(file)->excludes(store);
  add_jobs(*command, o->request.jobs);
  command
      ->add_option("--memory", o->request.memory,
                   "Of programs that chips share, as in 512MiB; a quarter of the machine's where it is absent")
      ->transform(CLI::AsSizeValue(false));
  add_json(*command, o->json);
  command->callback([o, file, store, &status] {
    if (!o->schema && file->empty()) throw CLI::RequiredError("SPEC");
    if (!o->schema && store->empty()) throw CLI::RequiredError("--store");
    status = o->schema ? print_schema() : run(*o);
  });
}

}  // namespace tilescope::cli

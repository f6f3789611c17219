// SPDX-License-Identifier: Apache-2.0
// tilescope sweep: chips of a sweep's file into a store, and the best of them.

#include "experiments/sweep/sweep.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "base/parse_number.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/sweep_tables.h"
#include "cli/usage.h"
#include "experiments/cluster/slurm.h"

namespace tilescope::cli {
namespace {

using experiments::SweepRun;

struct SweepOptions {
  experiments::SweepRequest request;
  bool json = false, schema = false;
  bool slurm = false, dry_run = false;
  experiments::JobsRequest jobs;
};

constexpr int kMaxShards = 100'000;

base::Value to_document(const SweepRun& run, const std::string& store) {
  base::Map out = {{"store", store}};
  base::Value state = experiments::to_document(run.state);
  base::append(out, std::move(*state.get_if<base::Map>()));
  base::append(out, base::Map{{"computed", run.computed},
                              {"stopped", run.stopped},
                              {"seconds", run.seconds},
                              {"cpu_seconds", run.cpu_seconds},
                              {"construct_cpu_seconds", run.construct_cpu_seconds}});
  return out;
}

std::string shard_option(const experiments::SweepRequest& r) {
  return r.shard ? fmt::format(" --shard {}/{}", r.shard->index, r.shard->count) : std::string();
}

// I/N, or what is wrong with it.
std::string read_shard(const std::string& text, std::optional<experiments::Shard>& shard) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto index = base::parse_integer<std::size_t>(text.substr(0, slash));
  const auto count = base::parse_integer<std::size_t>(text.substr(std::min(slash + 1, text.size())));
  if (!index || !count || *index >= *count || *count > std::size_t{kMaxShards})
    return fmt::format("expected I/N, the shard from 0 to N-1 and their number, at most {}, got '{}'", kMaxShards,
                       text);
  shard = {*index, *count};
  return {};
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

std::string ended_while_planned(const SweepOptions& o) {
  return fmt::format("ended while the sweep was planned; nothing is computed, and {} is as it was", o.request.store);
}

// "12 of 500 points; conv1 at core.count 40 takes 12 s so far; best so far 0.82 of v100 at core.count 60".
std::string note_of(const experiments::SweepProgress& p) {
  std::string out = fmt::format("{} of {} points", p.points_done, p.points_all);
  if (p.slow) out += fmt::format("; {} takes {:.0f} s so far", p.slow->row, p.slow->seconds);
  if (p.best) out += "; best so far " + *p.best;
  return out;
}

int say_end(const SweepOptions& o, const SweepRun& done, const base::Diagnostics& diags);

std::optional<SweepRun> run_sweep(const SweepOptions& o, base::Diagnostics& diags) {
  std::optional<Progress> progress, simulations;  // each begins with its first row
  EndsWhilePlanned planning(ended_while_planned(o));
  experiments::SweepRequest request = o.request;
  request.overdue = [&](const SweepRun& done) {
    progress.reset();
    say_end(o, done, diags);
    end_at_once();
  };
  return experiments::sweep(
      request, interrupted,
      [&](const experiments::SweepProgress& p) {
        planning.planned();
        if (p.simulations_all > 0) {
          progress.reset();
          if (!simulations) simulations.emplace("simulations");
          return simulations->update(p.simulations_done, p.simulations_all, {}, p.simulations_known);
        }
        if (!progress) progress.emplace("rows");
        progress->update(p.done, p.all, p.seconds_left, note_of(p), p.known);
      },
      diags);
}

// The shards as jobs of Slurm, or what they would be.
int run_slurm(SweepOptions o) {
  base::Diagnostics diags;
  o.jobs.file = o.request.file;
  o.jobs.store = o.request.store;
  o.jobs.tool_version = o.request.tool_version;
  o.jobs.program = std::filesystem::read_symlink("/proc/self/exe").string();
  if (o.request.memory > 0) o.jobs.options = fmt::format(" --memory {}", o.request.memory);
  const auto jobs = experiments::jobs_of(o.jobs, diags);
  if (!jobs) return report(diags);
  report_notes(diags);
  std::optional<experiments::Submitted> submitted;
  if (!o.dry_run) submitted = experiments::submit(*jobs);
  if (o.json) {
    base::Value document = experiments::to_document(*jobs);
    const base::Value numbers = submitted
                                    ? base::Value(base::Map{{"array", submitted->array}, {"merge", submitted->merge}})
                                    : base::Value(nullptr);
    document.get_if<base::Map>()->push_back({"jobs", numbers});
    print_json(document);
  } else if (!submitted) {
    fmt::print("{}", experiments::to_text(*jobs));
  } else {
    fmt::print("{}: {} points in {} shards, at most {} at a time: job {}; then job {} merges them into {}\n",
               jobs->title, jobs->points, jobs->shards, jobs->limit, submitted->array, submitted->merge, jobs->store);
    fmt::print("tilescope status {} says how far they are\n", jobs->store);
  }
  return kDone;
}

// Prints what the sweep came to; the command's status.
int say_end(const SweepOptions& o, const SweepRun& done, const base::Diagnostics& diags) {
  report_notes(diags);
  if (!done.planned) {
    fmt::print(stderr, "{}\n", ended_while_planned(o));
    return kFailed;
  }
  const experiments::SweepState& state = done.state;
  if (o.json) {
    print_json(to_document(done, o.request.store), diags);
  } else {
    fmt::print("{}; {}\n", heading_of(state), effort_of(done));
    print_best(state);
    print_front(state);
    print_escalation(state);
  }
  print_reasons(state);
  for (const std::string& lost : done.lost) fmt::print(stderr, "{}; the row is not kept\n", lost);
  if (done.stopped)
    fmt::print(stderr, "ended at {} of {} rows; tilescope sweep {} --store {}{} goes on from there\n", state.rows_done,
               state.rows, o.request.file, o.request.store, shard_option(o.request));
  return done.stopped || state.rows_failed > 0 ? kFailed : kDone;
}

int run(const SweepOptions& o) {
  end_in_good_order();
  base::Diagnostics diags;
  const auto done = run_sweep(o, diags);
  return done ? say_end(o, *done, diags) : report(diags);
}

CLI::Option* add_slurm(CLI::App& command, SweepOptions& o) {
  CLI::Option* slurm = command.add_flag("--slurm", o.slurm,
                                        "Submit the shards to Slurm as an array of jobs, and a job that merges them "
                                        "into the store; tasks have --jobs of their --cpus-per-task");
  command
      .add_option("--shards", o.jobs.shards,
                  "How many shards; as many as were begun, else four times --limit, at most one a point")
      ->check(whole_number(1, kMaxShards))
      ->needs(slurm);
  command.add_option("--limit", o.jobs.limit, "How many tasks run at a time, at most; 16 where it is absent")
      ->check(whole_number(1, kMaxShards))
      ->needs(slurm);
  command
      .add_option("--sbatch", o.jobs.sbatch,
                  "More options of sbatch: '--partition=long --time=2:00:00 --cpus-per-task=8'")
      ->needs(slurm);
  command.add_flag("--dry-run", o.dry_run, "Print scripts and commands, also for LSF and GNU parallel; submit nothing")
      ->needs(slurm);
  return slurm->excludes(command.get_option("--shard"));
}

}  // namespace

void add_sweep(CLI::App& app, int& status) {
  auto o = std::make_shared<SweepOptions>();
  o->request.tool_version = api::tool_version();
  CLI::App* command = app.add_subcommand("sweep", "Ask many chips, each with its own programs, into a store");
  CLI::Option* file =
      command->add_option("SPEC", o->request.file, "The sweep's file, YAML (docs/exploring.md)")->check(some_text());
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
      ->transform(CLI::AsSizeValue(false))
      ->transform(whole_size());  // the last one is asked first
  command
      ->add_option_function<std::string>(
          "--shard",
          [o](const std::string& text) {
            if (const std::string why = read_shard(text, o->request.shard); !why.empty())
              throw CLI::ValidationError("--shard", why);
          },
          "I/N: the points I, I+N, I+2N, ... alone, into a store of their own, which merge takes")
      ->excludes(schema);
  add_slurm(*command, *o)->excludes(schema);
  add_json(*command, o->json);
  command->callback([o, file, store, &status] {
    if (!o->schema && file->empty()) throw CLI::RequiredError("SPEC");
    if (!o->schema && store->empty()) throw CLI::RequiredError("--store");
    status = o->schema ? print_file(experiments::sweep_schema_path()) : o->slurm ? run_slurm(*o) : run(*o);
  });
}

}  // namespace tilescope::cli

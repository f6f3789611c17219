// SPDX-License-Identifier: Apache-2.0
// tilescope status: how far the sweeps of a store are, and their best points; and the shards that lie beside it.

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/sweep_tables.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "experiments/cluster/shards.h"
#include "experiments/sweep/state.h"

namespace tilescope::cli {
namespace {

using experiments::ShardProgress;
using experiments::ShardsProgress;
using experiments::Store;
using experiments::SweepState;

constexpr std::size_t kBest = 5;

base::Map to_document(const Store& store, const std::vector<SweepState>& states,
                      const std::optional<std::int64_t>& process) {
  base::List sweeps;
  for (const SweepState& s : states) sweeps.push_back(experiments::to_document(s));
  return base::Map{{"tool_version", store.tool_version()}, {"running_process", process}, {"sweeps", std::move(sweeps)}};
}

std::string task_of(const ShardProgress& s) {
  if (s.complete) return "done";
  if (s.process) return fmt::format("process {}", *s.process);
  return s.queued.empty() ? "-" : s.queued;
}

// Shards that are done are counted, and the others listed.
void print_shards(const ShardsProgress& p) {
  if (p.shards.empty())
    fmt::print("no shard has begun\n");
  else
    fmt::print("{}: {} of {} shards done, {} begun; {} of {} points, {} rows\n", p.title, p.complete, p.count,
               p.shards.size(), p.points_done, p.points, p.rows_done);
  Table table({{"shard", true}, {"points done", true}, {"rows done", true}, {"task"}});
  for (const ShardProgress& s : p.shards)
    if (!s.complete)
      table.add({fmt::format("{}", s.index), fmt::format("{} of {}", s.points_done, s.points),
                 fmt::format("{} of {}", s.rows_done, s.rows), task_of(s)});
  if (p.complete < p.shards.size()) table.print();
  if (!p.waiting.empty()) fmt::print("not begun: {}\n", experiments::list_of(p.waiting));
  if (!p.queue) return;
  if (!p.queue->error.empty()) return fmt::print("squeue: {}\n", p.queue->error);
  fmt::print("Slurm: job {}: {}; job {} merges: {}\n", p.queue->jobs.array, experiments::tasks_text(*p.queue),
             p.queue->jobs.merge, experiments::merge_text(*p.queue));
}

int run(const std::string& path, bool json) {
  base::Diagnostics diags;
  const auto shards = experiments::shards_beside(path, diags);
  if (!diags.ok()) return report(diags);
  // Before the shards are merged there may be no other store.
  std::error_code none;
  const bool only_shards = shards && !std::filesystem::exists(path, none);
  const auto store = only_shards ? std::nullopt : Store::open(path, diags);
  if (!store && !only_shards) return report(diags);
  const std::optional<std::int64_t> process = experiments::running_sweep(path);
  std::vector<SweepState> states;
  if (store)
    for (const experiments::StoredSweep& s : store->sweeps()) states.push_back(state_of(*store, s, kBest));
  if (json) {
    base::Map out = {{"store", path}};
    if (store) base::append(out, to_document(*store, states, process));
    if (shards) out.push_back({"shards", experiments::to_document(*shards)});
    print_json(std::move(out));
    return kDone;
  }
  if (store)
    fmt::print("{}: computed by tilescope {}; {}\n", path, store->tool_version(),
               process ? fmt::format("a sweep is running (process {})", *process) : "no sweep is running");
  for (const SweepState& s : states) {
    fmt::print("\n{}{}\n", heading_of(s), s.complete() ? "" : fmt::format("; {} of {} rows", s.rows_done, s.rows));
    print_best(s);
    print_front(s);
    print_escalation(s);
    print_reasons(s);
  }
  if (store && shards) fmt::print("\n");
  if (shards) print_shards(*shards);
  return kDone;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  struct Options {
    std::string store;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("status", "How far the sweeps of a store are, and the shards beside it");
  command->add_option("STORE", o->store, "The store of a sweep")->required()->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(o->store, o->json); });
}

}  // namespace tilescope::cli

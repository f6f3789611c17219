// SPDX-License-Identifier: Apache-2.0
// tilescope status: how far the sweeps of a store are, and their best points.

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/sweep_tables.h"
#include "cli/usage.h"
#include "experiments/sweep/state.h"

namespace tilescope::cli {
namespace {

using experiments::Store;
using experiments::SweepState;

constexpr std::size_t kBest = 5;

base::Value to_document(const Store& store, const std::string& path, const std::vector<SweepState>& states,
                        const std::optional<std::int64_t>& process) {
  base::List sweeps;
  for (const SweepState& s : states) sweeps.push_back(experiments::to_document(s));
  return base::Map{{"store", path, {}},
                   {"tool_version", store.tool_version(), {}},
                   {"running_process", process ? base::Value(*process) : base::Value(nullptr), {}},
                   {"sweeps", std::move(sweeps), {}}};
}

int run(const std::string& path, bool json) {
  base::Diagnostics diags;
  const auto store = Store::open(path, diags);
  if (!store) return report(diags);
  const std::optional<std::int64_t> process = experiments::running_sweep(path);
  std::vector<SweepState> states;
  for (const experiments::StoredSweep& s : store->sweeps()) states.push_back(state_of(*store, s, kBest));
  if (json) {
    print_json(to_document(*store, path, states, process));
    return kDone;
  }
  fmt::print("{}: computed by tilescope {}; {}\n", path, store->tool_version(),
             process ? fmt::format("a sweep is running (process {})", *process) : "no sweep is running");
  for (const SweepState& s : states) {
    fmt::print("\n{}{}\n", heading_of(s), s.complete() ? "" : fmt::format("; {} of {} rows", s.rows_done, s.rows));
    print_best(s);
    print_escalation(s);
    print_reasons(s);
  }
  return kDone;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  struct Options {
    std::string store;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("status", "How far the sweeps of a store are");
  command->add_option("STORE", o->store, "The store of a sweep")->required()->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(o->store, o->json); });
}

}  // namespace tilescope::cli

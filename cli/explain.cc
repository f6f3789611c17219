// SPDX-License-Identifier: Apache-2.0
// tilescope explain: what binds an operator's best program, and how its time answers to every number of the chip.

#include "api/explain.h"

#include <memory>

#include <fmt/format.h>

#include "api/network/explain.h"
#include "cli/command.h"
#include "cli/explain_tables.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

using api::ExplainedOperator;

struct ExplainOptions {
  ArchOptions arch;
  WorkloadOptions workload;
  std::string network;
  int jobs = 0;
  bool json = false, legend = false;
};

std::optional<std::vector<ExplainedOperator>> explain(const ExplainOptions& o, const api::Workload& w,
                                                      const arch::ArchSpec& a, base::Diagnostics& diags) {
  const api::LoadChanged load = [&](const arch::Override& one_more, base::Diagnostics& own) {
    return o.arch.load_with(one_more, own);
  };
  Phases phases;
  if (o.network.empty()) return api::explain(w, a, load, o.jobs, phases.phase("changes"), diags);
  return api::explain_network({o.network, w.sizes, w.dtype}, a, load, o.jobs, phases.phase("nodes"),
                              phases.phase("changes"), diags);
}

int run(const ExplainOptions& o) {
  base::Diagnostics diags;
  const api::Workload workload = o.workload.read();
  const auto a = o.arch.load_for(&targets::Target::construct, diags);
  if (!diags.ok()) {
    if (o.network.empty()) api::check(workload, diags);
    return report(diags);
  }
  const auto operators = explain(o, workload, *a, diags);
  if (!operators) return report(diags);
  report_notes(diags);
  const bool every = report_operators(*operators);
  if (o.json)
    print_json(api::to_document(*operators), diags);
  else if (o.workload.is_suite() || !o.network.empty())
    print_explained_suite(*operators);
  else if (every)
    print_explained(operators->front(), a->name);
  if (!o.json) print_legend(o.legend);
  return every ? kDone : kFailed;
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Say what operators are bound by and which numbers of the chip they feel");
  o->arch.add_to(*command);
  o->workload.add_to(*command);
  command
      ->add_option("--network", o->network,
                   "A network instead, by its name (network list) or file: the groups of its nodes that share kernels")
      ->excludes(command->get_option("--op"))
      ->excludes(command->get_option("--suite"))
      ->check(some_text());
  add_jobs(*command, o->jobs);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] {
    if (o->network.empty()) o->workload.require();
    status = run(*o);
  });
}

}  // namespace tilescope::cli

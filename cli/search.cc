// SPDX-License-Identifier: Apache-2.0
// tilescope search: construction beside searches that try programs, all evaluated by the simulator.

#include <cmath>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "experiments/search/plot.h"
#include "experiments/search/quality.h"

namespace tilescope::cli {
namespace {

using api::Search;
using experiments::Quality;
using experiments::SearchedOperator;
using experiments::SearchQuality;

struct SearchOptions {
  ArchOptions arch;
  WorkloadOptions workload;
  experiments::SearchQualityOptions trial;
  std::string plot;
  int jobs = 0;
  bool json = false;
};

std::string cell(double us) { return std::isinf(us) ? "-" : time_text(us); }

// Simulated times by operator: of construction, of every search with its whole budget, of all aligned programs.
void print_operators(const SearchQuality& q) {
  Table table({{"operator"},
               {"roller, first", true},
               {"best of 10", true},
               {"osdi22, first", true},
               {"best of 10", true},
               {"random", true},
               {"genetic", true},
               {"anneal", true},
               {"aligned", true},
               {"exhaustive", true}});
  for (const SearchedOperator& op : q.operators) {
    if (!op.error.empty()) continue;
    std::vector<std::string> row = {op.id};
    for (const Search s : {Search::kRoller, Search::kRollerOsdi22})
      for (const std::size_t n : {1U, 10U}) row.push_back(cell(op.of(s).best_us(n)));
    for (const Search s : {Search::kRandom, Search::kGenetic, Search::kAnneal})
      row.push_back(cell(op.of(s).best_us(op.of(s).us.size())));
    row.push_back(fmt::format("{}{}", op.aligned, op.every_layout || !op.exhaustive_us ? "" : " plain"));
    row.push_back(op.exhaustive_us ? cell(*op.exhaustive_us) : "-");
    table.add(row);
  }
  table.print();
}

void print_qualities(const char* what, const std::vector<Quality>& qualities) {
  fmt::print("\nbest simulated time over {}\n", what);
  Table table({{"search"},
               {"programs", true},
               {"operators", true},
               {"mean", true},
               {"within 3 %", true},
               {"within 15 %", true},
               {"worst", true},
               {"of"}});
  for (const Quality& q : qualities)
    if (q.operators > 0)
      table.add({std::string(api::name_of(q.search)), fmt::format("{}", q.n), fmt::format("{}", q.operators),
                 fmt::format("{:.3f}x", q.mean_ratio), fmt::format("{:.0f} %", 100 * q.within_3),
                 fmt::format("{:.0f} %", 100 * q.within_15), fmt::format("{:.2f}x", q.worst_ratio), q.worst});
  table.print();
}

int run(const SearchOptions& o) {
  base::Diagnostics diags;
  const api::Workload workload = o.workload.read();
  const auto a = o.arch.load_for(&targets::Target::search, diags);
  if (!diags.ok()) {
    api::check(workload, diags);
    return report(diags);
  }
  Progress progress("programs");
  const auto q = experiments::search_quality(
      workload, *a, o.trial, o.jobs, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
  if (!q) return report(diags);
  report_notes(diags);
  const bool every = report_operators(q->operators);
  if (!o.plot.empty()) {
    const std::string title =
        fmt::format("{} on {}: construction and searches", workload.suite.value_or("one operator"), a->name);
    experiments::write_search_plot(*q, o.trial.budget, title, o.plot);
  }
  if (o.json) {
    print_json(experiments::to_document(*q), diags);
  } else {
    print_operators(*q);
    print_qualities("the best of all aligned programs", q->by_exhaustive);
    print_qualities("the best known", q->by_best_known);
    if (q->over_osdi22_operators > 0)
      fmt::print("\nroller's first is {:.2f}x as fast as roller-osdi22's, geometric mean of {} operators\n",
                 q->over_osdi22_ratio, q->over_osdi22_operators);
  }
  return every ? kDone : kFailed;
}

}  // namespace

void add_search_quality(CLI::App& app, int& status) {
  auto o = std::make_shared<SearchOptions>();
  CLI::App* command = app.add_subcommand("search", "Lay construction beside searches that simulate many programs");
  o->arch.add_to(*command);
  o->workload.add_to(*command);
  add_search_budget(*command, "Programs that each search may try", o->trial.budget, o->trial.seed);
  command
      ->add_option("--exhaustive-limit", o->trial.exhaustive_limit,
                   "Aligned programs that are all tried where there are no more")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--log", o->trial.log, "File of simulated times: added to, and read where they are known")
      ->check(some_text());
  command->add_option("--plot", o->plot, "SVG file to draw the best time over programs tried to")->check(some_text());
  add_jobs(*command, o->jobs);
  add_json(*command, o->json);
  command->callback([o, &status] {
    o->workload.require();
    status = run(*o);
  });
}

}  // namespace tilescope::cli

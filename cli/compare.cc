// SPDX-License-Identifier: Apache-2.0
// tilescope compare: predicted, simulated and measured times side by side.

#include "experiments/accuracy/compare.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/total_columns.h"
#include "cli/usage.h"
#include "experiments/accuracy/scatter_plot.h"

namespace tilescope::cli {
namespace {

using experiments::Accuracy;
using experiments::AccuracyOfKind;
using experiments::ComparedRow;
using experiments::Comparison;

constexpr const char* kSuiteOfLibraries = "roller";  // that of which library times are known, on three boards

struct CompareOptions {
  ArchOptions arch;
  api::Workload workload;  // of a suite
  std::string suite, batch, dtype, search = "roller", rows, baseline, plot;
  experiments::CompareOptions compare;
  std::size_t worst = 10;
  bool json = false, legend = false;
};

void add_accuracy(Table& table, const std::string& kind, const std::string& what, const Accuracy& f) {
  const bool any = f.errors.compared > 0, ranked = f.by_row.groups > 0;
  const auto rank = [&](double value) { return ranked ? fmt::format("{:.3f}", value) : std::string(); };
  table.add({kind, what, fmt::format("{} of {}", f.errors.compared, f.rows), any ? share_text(f.errors.mape_ratio) : "",
             any ? share_text(f.errors.median_error_ratio) : "", any ? share_text(f.errors.p90_error_ratio) : "",
             any ? percent_text(f.errors.bias_ratio) : "", ranked ? std::to_string(f.by_tile.groups) : "",
             rank(f.by_tile.spearman), rank(f.by_tile.kendall), rank(f.by_tile.best_of_1), rank(f.by_tile.best_of_5),
             rank(f.by_tile.best_of_10), rank(f.by_row.spearman), rank(f.by_row.best_of_1)});
}

void print_summary(const Comparison& c) {
  Table table({{"kind"},
               {"compared"},
               {"rows", true},
               {"mean |error|", true},
               {"median", true, 1},
               {"p90", true, 1},
               {"mean", true},
               {"groups", true, 2},
               {"tiles: Spearman", true, 1},
               {"Kendall", true, 3},
               {"top-1", true, 2},
               {"top-5", true, 3},
               {"top-10", true, 3},
               {"rows: Spearman", true},
               {"top-1", true, 2}});
  for (const AccuracyOfKind& f : experiments::accuracy_by_kind(c)) {
    if (f.predicted) add_accuracy(table, f.kind, "predicted, measured", *f.predicted);
    if (f.simulated) add_accuracy(table, f.kind, "simulated, measured", *f.simulated);
    if (f.model) add_accuracy(table, f.kind, "predicted, simulated", *f.model);
  }
  table.print();
}

// The rows with the largest errors.
void print_worst(const Comparison& c, std::size_t n) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& r : c.rows)
    if (r.prediction && r.measured_us) rows.push_back(&r);
  const auto off = [](const ComparedRow* r) {
    return std::abs(std::log(r->prediction->predicted_us / *r->measured_us));
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return off(a) > off(b); });
  rows.resize(std::min(n, rows.size()));
  if (rows.empty()) return;
  Table table({{"largest errors"},
               {"tile"},
               {"measured", true},
               {"predicted", true},
               {"error", true},
               {"bound by"},
               {"simulated", true},
               {"library", true},
               {"core clock", true}});
  for (const ComparedRow* r : rows)
    table.add({r->id, r->tile, time_text(*r->measured_us), time_text(r->prediction->predicted_us),
               percent_text(*r->error_ratio(r->predicted_us())), r->prediction->bottleneck,
               r->simulation ? time_text(r->simulation->simulated_us) : "",
               r->library_us ? fmt::format("{} {}", r->library, time_text(*r->library_us)) : "",
               r->core_mhz ? fmt::format("{:.0f} MHz", *r->core_mhz) : ""});
  fmt::print("\n");
  table.print();
}

int run(const CompareOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::estimate, diags);
  experiments::CompareOptions options = o.compare;
  if (const auto search = api::search_of(o.search, diags)) options.search = *search;
  if (!diags.ok()) return report(diags);
  api::ProgramSource source;
  if (o.batch.empty()) {
    source.workload = o.workload;
    source.workload.suite = o.suite.empty() ? kSuiteOfLibraries : o.suite;
    options.library = !o.baseline.empty();
    source.workload.dtype = o.dtype;
    if (!o.rows.empty()) options.rows = read_batch(o.rows, diags);
    if (!diags.ok()) return report(diags);
  } else {
    source.batch = read_batch(o.batch, diags);
    if (!source.batch) return report(diags);
  }
  Progress progress("programs");
  const auto c = experiments::compare(
      source, *a, options, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
  if (!c) return report(diags);
  if (!source.batch && o.arch.is_changed() && !c->measured.empty())
    diags.note({diags.add_source("--set")},
               fmt::format("measured times are of {} as it is, without these changes", a->name));
  report_notes(diags);
  const int status = report_rows(c->rows);
  if (!o.plot.empty()) {
    const std::string title = fmt::format("{} on {}", o.batch.empty() ? o.suite : o.batch, a->name);
    experiments::write_scatter_plot(*c, title, o.plot);
  }
  if (o.json) {
    print_rows(c->rows, experiments::summary_of(*c), o.compare.jobs, diags);
  } else {
    print_summary(*c);
    print_worst(*c, o.worst);
    if (const auto total = experiments::totals_of(*c, false)) print_totals(*total);
    const bool simulated = std::any_of(c->rows.begin(), c->rows.end(), [](const auto& r) { return r.simulation; });
    if (const auto total = simulated ? experiments::totals_of(*c, true) : std::nullopt) print_totals(*total);
    print_legend(o.legend);
  }
  return status;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Lay predicted, simulated and measured times side by side");
  o->arch.add_to(*command);
  CLI::Option* suite =
      command->add_option("--suite", o->suite,
                          "A list of operators, by its name or file: with times published for the chip, "
                          "with --rows, or with --simulate");
  CLI::Option* batch = add_measured_batch(*command, o->batch);
  suite->check(some_text())->excludes(batch);
  command->add_option("--size", o->workload.sizes, "Values of the suite's variables: seq=2048,batch=8")
      ->check(some_text())
      ->needs(suite);
  add_dtype(*command, o->dtype);
  command->get_option("--dtype")->needs(suite);
  add_search(*command, o->search)->excludes(batch);
  command->add_option("--rows", o->rows, "Times that measure kept, in place of published ones")
      ->check(some_text())
      ->needs(suite);
  CLI::Option* baseline =
      command->add_option("--baseline", o->baseline,
                          "Times of the vendor's fastest library (library) in place of ours or published ones, by kind "
                          "and duration; of the suite roller where none is named");
  baseline->check(CLI::IsMember({"library"}))->excludes(batch);
  command->add_flag("--simulate", o->compare.simulate, "Simulate every compared row too, sampled: seconds a row");
  command->add_option("--sample", o->compare.sample, "Compare so many rows of each group, drawn at random")
      ->check(CLI::PositiveNumber)
      ->needs(batch);
  command->add_option("--seed", o->compare.seed, "What the chance of the draw begins with; 1 by default")->needs(batch);
  for (CLI::Option* option : add_program_filter(*command, o->compare.programs)) option->needs(batch);
  command->add_option("--min-tiles", o->compare.min_tiles,
                      "Rank only groups that have at least so many block tiles; 2 by default");
  command->add_option("--plot", o->plot, "SVG file to draw predicted over measured times to")->check(some_text());
  command->add_option("--worst", o->worst,
                      "How many of the rows with the largest errors the table shows; 10 by default");
  add_jobs(*command, o->compare.jobs);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, suite, batch, baseline, &status] {
    if (suite->empty() && batch->empty() && baseline->empty()) throw CLI::RequiredError("--suite or --batch");
    status = run(*o);
  });
}

}  // namespace tilescope::cli

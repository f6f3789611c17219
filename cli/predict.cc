// SPDX-License-Identifier: Apache-2.0
// tilescope predict: times of given programs by the model.

#include "api/predict.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/kernel_counts.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/total_columns.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

using api::PredictedRow;
using api::Prediction;

struct PredictOptions {
  ArchOptions arch;
  std::string program, batch, kernels, bands;
  int jobs = 0;
  bool json = false, legend = false;
};

int predict_one(const PredictOptions& o, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto text = base::read_file(o.program, diags.add_source(o.program), diags);
  const auto p = text ? api::predict_program({o.program, *text}, a, diags) : std::nullopt;
  if (!p) return report(diags);
  report_notes(diags);
  if (o.json) {
    print_json(api::to_entries(*p), diags);
    return kDone;
  }
  const std::string band = p->band ? fmt::format(" (80 % interval {})", band_text(*p->band)) : "";
  fmt::print("{} on {}: {}{}, bound by {}; {} blocks in {:.2f} waves, occupancy {:.0f} % ({})\n", o.program, a.name,
             time_text(p->predicted_us), band, p->bottleneck, p->blocks, p->waves, 100 * p->occupancy_ratio,
             p->occupancy_limit);
  Table terms({{"term"}, {"alone", true}});
  for (const api::TermRow& t : p->terms) terms.add({t.name, time_text(t.us)});
  terms.print();
  Table levels({{"level"}, {"bytes", true}, {"transactions", true}, {"conflicts", true}, {"time", true}});
  for (const api::LevelRow& l : p->levels)
    levels.add({l.name, fmt::format("{:.4g}", l.bytes), fmt::format("{:.4g}", l.transactions),
                fmt::format("{:.2f}x", l.conflict_ratio), time_text(l.time_us)});
  levels.print();
  return kDone;
}

// What kernels do, and no time of it.
int count_kernels(const PredictOptions& o, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto text = base::read_file(o.kernels, diags.add_source(o.kernels), diags, api::kKernelFileLimits);
  const auto kernels = text ? api::count_kernels({o.kernels, *text}, a, diags) : std::nullopt;
  if (!kernels) return report(diags);
  report_notes(diags);
  if (o.json) {
    print_json(api::to_document(*kernels), diags);
    return kDone;
  }
  Table table({{"kernel"},
               {"operations", true},
               {"level"},
               {"bytes read", true},
               {"bytes written", true},
               {"requests", true},
               {"transactions", true}});
  for (const api::KernelCount& k : *kernels)
    for (const api::KernelLevel& l : k.levels)
      table.add({k.name, fmt::format("{}{:.6g}", k.operations_at_most ? "at most " : "", k.operations), l.name,
                 fmt::format("{}", l.read_bytes), fmt::format("{}", l.written_bytes), fmt::format("{}", l.requests),
                 fmt::format("{}", l.transactions)});
  table.print();
  fmt::print("\nno time: the model reads programs, not kernels; simulate --kernel has one\n");
  return kDone;
}

void print_batch(const std::vector<PredictedRow>& rows) {
  const api::BatchSummary s = api::summarize(rows);
  std::vector<Column> columns = {{"id"}, {"predicted", true}};
  if (s.total) columns.insert(columns.end(), {{"count", true}, {"FLOP/s", true, 1}});
  columns.insert(columns.end(), {{"bound by"}, {"measured", true}, {"error", true}});
  Table table(columns);
  for (const PredictedRow& r : rows) {
    if (!r.prediction) continue;
    std::vector<std::string> cells = {r.id, time_text(r.prediction->predicted_us)};
    if (s.total) {
      cells.push_back(r.count ? fmt::format("{}", *r.count) : "");
      cells.push_back(rate_text(r.operations / r.prediction->predicted_us * 1e6));
    }
    cells.insert(cells.end(), {r.prediction->bottleneck, r.measured_us ? time_text(*r.measured_us) : "",
                               r.error_ratio() ? percent_text(*r.error_ratio()) : ""});
    table.add(cells);
  }
  table.print();
  if (s.total) print_totals(*s.total);
  fmt::print("\n{} of {} lines predicted, {} failed\n", s.predicted, s.rows, s.failed);
  if (const api::ErrorStatistics& e = s.errors; e.compared > 0)
    fmt::print("{} of them measured: mean |error| {:.1f} %, median {:.1f} %, mean error {}\n", e.compared,
               100 * e.mape_ratio, 100 * e.median_error_ratio, percent_text(e.bias_ratio));
}

std::vector<PredictedRow> predict_rows(const api::NamedText& batch, const PredictOptions& o, const arch::ArchSpec& a) {
  Progress progress("lines");
  return api::predict_batch(batch.text, batch.name, a, o.jobs,
                            [&](std::size_t done, std::size_t all) { progress.update(done, all); });
}

int predict_lines(const PredictOptions& o, const arch::ArchSpec& a, base::Diagnostics& diags) {
  const auto batch = read_batch(o.batch, diags);
  if (!batch) return report(diags);
  report_notes(diags);
  const std::vector<PredictedRow> rows = predict_rows(*batch, o, a);
  const int status = report_rows(rows);
  if (o.json)
    print_rows(rows, api::to_entries(api::summarize(rows)), o.jobs, diags);
  else
    print_batch(rows);
  return status;
}

int run(const PredictOptions& o) {
  base::Diagnostics diags;
  auto a = o.kernels.empty() ? o.arch.load_for(&targets::Target::estimate, diags)
                             : o.arch.load_for(&targets::Target::count, diags);
  use_bands(o.bands, a, diags);
  if (!a || !diags.ok()) return report(diags);
  if (!o.kernels.empty()) return count_kernels(o, *a, diags);
  const int status = o.batch.empty() ? predict_one(o, *a, diags) : predict_lines(o, *a, diags);
  if (!o.json) print_legend(o.legend);
  return status;
}

}  // namespace

void add_predict(CLI::App& app, int& status) {
  auto o = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Predict the time of given programs");
  o->arch.add_to(*command);
  CLI::Option* program =
      command->add_option("--program", o->program, "A program file, as compile -o writes it")->check(some_text());
  CLI::Option* batch =
      command->add_option("--batch", o->batch, "JSON lines, a program each, or a folder that compile -o wrote")
          ->check(some_text());
  program->excludes(batch);
  CLI::Option* kernels = add_kernel_file(*command, o->kernels, {program, batch});
  add_jobs(*command, o->jobs);
  add_bands(*command, o->bands);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, program, batch, kernels, &status] {
    if (program->empty() && batch->empty() && kernels->empty())
      throw CLI::RequiredError("--program, --batch or --kernel");
    status = run(*o);
  });
}

}  // namespace tilescope::cli

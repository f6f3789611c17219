// SPDX-License-Identifier: Apache-2.0
// tilescope export: a stored sweep as CSV or JSON lines.

#include "experiments/sweep/export.h"

#include <limits>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/stored_sweep.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "experiments/sweep/state.h"

namespace tilescope::cli {
namespace {

using experiments::Store;
using experiments::TableForm;

struct ExportOptions {
  StoredSweepOptions sweep;
  std::string out;
  std::optional<std::size_t> point;  // of which the operators are wanted
  bool json = false, legend = false;
};

std::optional<TableForm> form_of(const std::string& file, base::Diagnostics& diags) {
  if (file.ends_with(".jsonl")) return TableForm::kJsonLines;
  if (file.ends_with(".csv") || file.starts_with("/dev/")) return TableForm::kCsv;
  diags.error({diags.add_source("-o " + file)}, "expected a file that ends in .csv or .jsonl");
  return std::nullopt;
}

void print_operators(const experiments::OperatorsAtPoint& at, const experiments::StoredSweep& sweep) {
  fmt::print("{}, point {} on {}: {}{}\n", sweep.title, at.point.ordinal, at.point.base,
             experiments::place_of(at.point, sweep.axes),
             at.weighted_us ? fmt::format("; weighted total {}", time_text(*at.weighted_us)) : "");
  Table table({{"operator"}, {"kind", false, 1}, {"weight", true}, {"time", true}, {"share", true}, {"bound by"}});
  for (const experiments::OperatorAtPoint& op : at.operators)
    table.add({op.id, op.kind, fmt::format("{:g}", op.weight), op.us ? time_text(*op.us) : "-",
               op.share_ratio ? share_text(*op.share_ratio) : "-", op.us ? op.bound_by : op.error});
  table.print();
}

// The operators of one point: a table for people, a file, or a document.
int run_rows(const ExportOptions& o) {
  base::Diagnostics diags;
  const auto form = o.out.empty() ? std::nullopt : form_of(o.out, diags);
  const auto store = Store::open(o.sweep.store, diags);
  const auto sweep = store ? chosen_sweep(*store, o.sweep, diags) : std::nullopt;
  const auto at = sweep ? experiments::operators_at(*store, *sweep, *o.point, diags) : std::nullopt;
  if (!at || !diags.ok()) return report(diags);
  if (form) experiments::write_table_file(*at, *sweep, *form, o.out);
  if (o.json)
    print_json(experiments::to_document(*at, *sweep));
  else if (!form)
    print_operators(*at, *sweep);
  if (!o.json) print_legend(o.legend);
  return kDone;
}

int run(const ExportOptions& o) {
  base::Diagnostics diags;
  const auto form = form_of(o.out, diags);
  const auto store = Store::open(o.sweep.store, diags);
  const auto sweep = store ? chosen_sweep(*store, o.sweep, diags) : std::nullopt;
  if (!form || !sweep) return report(diags);
  const std::size_t rows = experiments::write_table_file(*store, *sweep, *form, o.out);
  if (o.json) print_json(base::Map{{"sweep", sweep->title}, {"file", o.out}, {"rows", rows}});
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  auto o = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "A stored sweep as CSV or JSON lines");
  o->sweep.add_to(*command);
  command->add_option("-o", o->out, "The file to write: .csv or .jsonl")->check(some_text());
  command
      ->add_option("--rows", o->point,
                   "The operators of the point of this number (# of sweep and status) with their times, in place of "
                   "all rows; a table where no -o is given")
      ->check(whole_number(0, std::numeric_limits<int>::max()));
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] {
    if (!o->point && o->out.empty()) throw CLI::RequiredError("-o");
    status = o->point ? run_rows(*o) : run(*o);
  });
}

}  // namespace tilescope::cli

// tilescope export: a stored sweep as CSV or JSON lines.

#include <memory>

#include "cli/command.h"
#include "cli/stored_sweep.h"
#include "cli/usage.h"
#include "experiments/sweep_export.h"

namespace tilescope::cli {
namespace {

using experiments::Store;
using experiments::TableForm;

struct Options {
  StoredSweepOptions sweep;
  std::string out;
  bool json = false;
};

std::optional<TableForm> form_of(const std::string& file, base::Diagnostics& diags) {
  if (file.ends_with(".jsonl")) return TableForm::kJsonLines;
  if (file.ends_with(".csv") || file.starts_with("/dev/")) return TableForm::kCsv;
  diags.error({diags.add_source("-o " + file)}, "expected a file that ends in .csv or .jsonl");
  return std::nullopt;
}

int run(const Options& o) {
  base::Diagnostics diags;
  const auto form = form_of(o.out, diags);
  const auto store = Store::open(o.sweep.store, diags);
  const auto sweep = store ? chosen_sweep(*store, o.sweep, diags) : std::nullopt;
  if (!form || !sweep) return report(diags);
  const std::size_t rows = experiments::write_table_file(*store, *sweep, *form, o.out);
  if (o.json)
    print_json(
        base::Map{{"sweep", sweep->title, {}}, {"file", o.out, {}}, {"rows", static_cast<std::int64_t>(rows), {}}});
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "A stored sweep as CSV or JSON lines");
  o->sweep.add_to(*command);
  command->add_option("-o", o->out, "The file to write: .csv or .jsonl")->required()->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli

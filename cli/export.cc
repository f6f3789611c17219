// tilescope export: a stored sweep as CSV or JSON lines.

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/usage.h"
#include "experiments/sweep_export.h"

namespace tilescope::cli {
namespace {

using experiments::Store;
using experiments::StoredSweep;
using experiments::TableForm;

struct Options {
  std::string store, sweep, out;
  bool json = false;
};

// The sweep of that title, or the only one.
std::optional<StoredSweep> chosen(const Store& store, const Options& o, base::Diagnostics& diags) {
  std::vector<StoredSweep> sweeps = store.sweeps();
  std::vector<std::string_view> titles;
  for (const StoredSweep& s : sweeps) titles.push_back(s.title);
  if (o.sweep.empty() && sweeps.size() == 1) return std::move(sweeps.front());
  for (StoredSweep& s : sweeps)
    if (s.title == o.sweep) return std::move(s);
  if (sweeps.empty())
    diags.error({diags.add_source(o.store)}, "has no sweep yet");
  else if (o.sweep.empty())
    diags.error({diags.add_source(o.store)},
                fmt::format("has several sweeps; choose one by --sweep: '{}'", fmt::join(titles, "', '")));
  else
    diags.error({diags.add_source("--sweep " + o.sweep)},
                fmt::format("{} has no such sweep{}; it has '{}'", o.store, base::did_you_mean(o.sweep, titles),
                            fmt::join(titles, "', '")));
  return std::nullopt;
}

std::optional<TableForm> form_of(const std::string& file, base::Diagnostics& diags) {
  if (file.ends_with(".jsonl")) return TableForm::kJsonLines;
  if (file.ends_with(".csv") || file.starts_with("/dev/")) return TableForm::kCsv;
  diags.error({diags.add_source("-o " + file)}, "expected a file that ends in .csv or .jsonl");
  return std::nullopt;
}

int run(const Options& o) {
  base::Diagnostics diags;
  const auto form = form_of(o.out, diags);
  const auto store = Store::open(o.store, diags);
  const auto sweep = store ? chosen(*store, o, diags) : std::nullopt;
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
  command->add_option("STORE", o->store, "The store of a sweep")->required()->check(some_text());
  command->add_option("-o", o->out, "The file to write: .csv or .jsonl")->required()->check(some_text());
  command->add_option("--sweep", o->sweep, "Its title, where the store has several")->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
// tilescope import: files of other tools as chips and suites, and what became of every key.

#include "import/import.h"

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct ImportOptions {
  importers::ImportOptions import;
  std::string out;
  bool lenient = false, json = false, legend = false;
};

std::string text_of(const base::Value& v) {
  if (v.is_null()) return "-";
  const auto* text = v.get_if<std::string>();
  return text == nullptr ? base::to_json(v) : *text;
}

void print_lists(const importers::Imported& imported) {
  const importers::Report& r = imported.report;
  if (!r.taken.empty()) {
    fmt::print("taken\n");
    Table table({{"key"}, {"given"}, {"became"}});
    for (const importers::TakenKey& k : r.taken) table.add({k.key, k.value, k.became});
    table.print();
  }
  if (!r.meaningless.empty()) {
    fmt::print("\nmeaningless here\n");
    Table table({{"key"}, {"given"}, {"reason"}});
    for (const importers::MeaninglessKey& k : r.meaningless) table.add({k.key, k.value, k.reason});
    table.print();
  }
  if (imported.base.empty()) return;
  fmt::print("\ndiffers from {}\n", imported.base);
  Table table({{"path"}, {imported.base, true}, {imported.name, true}});
  for (const importers::Difference& d : imported.differences) table.add({d.path, text_of(d.ours), text_of(d.imported)});
  table.print();
}

// One line for each key that is not understood, with its place.
void report_unknown(const importers::Imported& imported, const base::Diagnostics& diags, bool lenient) {
  for (const importers::UnknownKey& k : imported.report.unknown) {
    const std::string line = diags.format({k.at, fmt::format("not understood: {}{}", k.key, k.hint)});
    fmt::print(stderr, "{}{}\n", lenient ? "note: " : "", line);
  }
}

int run(const ImportOptions& o) {
  base::Diagnostics diags;
  const auto imported = importers::import_file(o.import, diags);
  if (!imported) return report(diags);
  report_notes(diags);
  report_unknown(*imported, diags, o.lenient);
  const bool whole = imported->report.unknown.empty() || o.lenient;
  if (o.json)
    print_json(importers::to_document(*imported), diags);
  else
    print_lists(*imported);
  if (!whole) {
    fmt::print(stderr, "{}: {} keys are not understood; --lenient leaves them out\n", o.import.file,
               imported->report.unknown.size());
    return kFailed;
  }
  if (!o.out.empty() && !write_text(imported->text, o.out)) return kFailed;
  if (!o.json) print_legend(o.legend);
  return kDone;
}

std::string formats_text() {
  std::string out = "What the file is:";
  for (const importers::Format& f : importers::formats()) out += fmt::format("\n{}: {}", f.name, f.what);
  return out;
}

}  // namespace

void add_import(CLI::App& app, int& status) {
  auto o = std::make_shared<ImportOptions>();
  CLI::App* command =
      app.add_subcommand("import", "Read another tool's file as a chip or a suite, and say what became of every key");
  command->add_option("FORMAT", o->import.format, formats_text())->required()->check(some_text());
  command->add_option("FILE", o->import.file, "The file")->required()->check(some_text());
  command->add_option("-o,--output", o->out, "YAML file to write")->check(some_text());
  command->add_option("--name", o->import.name, "Name of the chip, or of the operator of a problem")
      ->check(some_text());
  command->add_option("--like", o->import.like, "Device that the chip extends (arch list), by default the nearest")
      ->check(some_text());
  command->add_flag("--lenient", o->lenient, "Leave out keys that are not understood");
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
// tilescope suite: what lists of operators there are, what one holds, whether a file is one, and the schema for
// editors.

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/suites.h"
#include "cli/command.h"
#include "cli/table.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct SuiteOptions {
  std::vector<std::string> files;
  std::string suite, sizes, dtype;
  bool json = false;
};

std::string text_of(const std::vector<api::SuiteVariable>& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

int list(bool json) {
  Table table({{"suite"}, {"operators", true}, {"variables"}});
  base::List rows;
  int status = kDone;
  for (const std::string_view name : api::suite_names()) {
    base::Diagnostics diags;
    api::Workload workload;
    workload.suite = std::string(name);
    const auto suite = api::summary_of_suite(workload, diags);
    if (!suite) {
      status = report(diags);
      continue;
    }
    table.add({std::string(name), fmt::format("{}", suite->operators.size()), text_of(suite->variables)});
    base::Map variables;
    for (const auto& [variable, value] : suite->variables) variables.push_back({variable, value});
    rows.emplace_back(
        base::Map{{"name", name}, {"operators", suite->operators.size()}, {"variables", std::move(variables)}});
  }
  if (json)
    print_json(base::Map{{"suites", std::move(rows)}});
  else
    table.print();
  return status;
}

std::optional<api::SuiteSummary> read(const SuiteOptions& o, const std::string& name, base::Diagnostics& diags) {
  api::Workload workload;
  workload.suite = name;
  workload.sizes = o.sizes;
  workload.dtype = o.dtype;
  return api::summary_of_suite(workload, diags);
}

int show(const SuiteOptions& o) {
  base::Diagnostics diags;
  const auto suite = read(o, o.suite, diags);
  if (!suite || !diags.ok()) return report(diags);
  report_notes(diags);
  if (o.json) {
    print_json(api::to_entries(*suite));
    return kDone;
  }
  if (!suite->variables.empty()) fmt::print("{}\n\n", text_of(suite->variables));
  Table table({{"operator"}, {"kind"}, {"dtype"}, {"count", true}, {"sizes"}, {"GFLOP", true}});
  for (const api::SuiteRow& r : suite->operators)
    table.add({r.id, r.kind, r.dtype, fmt::format("{}", r.count), r.sizes, fmt::format("{:.4g}", 1e-9 * r.operations)});
  table.print();
  return kDone;
}

int check(const SuiteOptions& o) {
  base::List rows;
  int status = kDone;
  for (const std::string& file : o.files) {
    base::Diagnostics diags;
    const auto suite = read(o, file, diags);
    base::List errors;
    for (std::string& line : diags.formatted_errors()) errors.emplace_back(std::move(line));
    rows.emplace_back(base::Map{{"file", file}, {"ok", diags.ok()}, {"errors", std::move(errors)}});
    if (!diags.ok()) {
      status = report(diags);
      continue;
    }
    report_notes(diags);
    if (!o.json) fmt::print("{}: {} operators: good\n", file, suite->operators.size());
  }
  if (o.json) print_json(base::Map{{"files", std::move(rows)}});
  return status;
}

void add_variables(CLI::App& command, SuiteOptions& o) {
  command.add_option("--size", o.sizes, "Values of the suite's variables: seq=2048,batch=8")->check(some_text());
  add_dtype(command, o.dtype);
}

}  // namespace

void add_suite(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("suite", "Lists of operators: list, show, check, schema");
  command->require_subcommand(1);
  auto o = std::make_shared<SuiteOptions>();

  CLI::App* lists = command->add_subcommand("list", "The suites that come with Tilescope");
  add_json(*lists, o->json);
  lists->callback([o, &status] { status = list(o->json); });

  CLI::App* shows = command->add_subcommand("show", "The operators of a suite with their sizes");
  shows->add_option("suite", o->suite, "The suite: a name (suite list) or a YAML file")->required()->check(some_text());
  add_variables(*shows, *o);
  add_json(*shows, o->json);
  shows->callback([o, &status] { status = show(*o); });

  CLI::App* checks = command->add_subcommand("check", "Report every mistake of suite files");
  checks->add_option("FILE", o->files, "YAML files or names")->required();
  add_variables(*checks, *o);
  add_json(*checks, o->json);
  checks->callback([o, &status] { status = check(*o); });

  CLI::App* schema = command->add_subcommand("schema", "The JSON Schema that editors complete from");
  schema->add_flag("--json", o->json, "One JSON document on stdout, as without this option");
  schema->callback([&status] { status = print_file(api::suite_schema_path()); });
}

}  // namespace tilescope::cli

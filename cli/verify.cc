// SPDX-License-Identifier: Apache-2.0
// tilescope verify: emitted kernels on the CPU; their values, and their counters beside the simulator's and the
// model's.

#include "api/verify/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/table.h"

namespace tilescope::cli {
namespace {

using api::VerifiedRow;

struct VerifyOptions {
  ArchOptions arch;
  ProgramOptions programs;
  std::string scale;
  int jobs = 0;
  bool json = false, legend = false;
};

// How far the model is from what runs; the two are equal where it is empty.
std::string beside(double model, double runs) {
  if (runs == 0) return model == 0 ? "" : fmt::format("{:.0f}", model);
  const double error = model / runs - 1;
  return std::abs(error) < 5e-4 ? "" : percent_text(error);
}

const double* amount_of(const api::VerifiedAmounts& amounts, const std::string& name) {
  for (const auto& [of, amount] : amounts)
    if (of == name) return &amount;
  return nullptr;
}

// The amounts that all three count.
std::vector<std::string> compared_amounts(const std::vector<VerifiedRow>& rows) {
  std::vector<std::string> out;
  for (const VerifiedRow& r : rows)
    if (r.model && out.empty())
      for (const auto& [name, amount] : *r.model) out.push_back(name);
  if (out.empty() && !rows.empty())
    for (const auto& [name, amount] : rows.front().run) out.push_back(name);
  return out;
}

std::string verdict(const VerifiedRow& r) {
  const api::ValueErrors &worst = r.worst_errors, &allowed = r.allowed_errors;
  if (worst.units > allowed.units)
    return fmt::format("wrong: off by {:.2g} units, {:.2g} allowed", worst.units, allowed.units);
  if (!r.values_ok) return fmt::format("wrong: off by {:.2g}, {:.2g} allowed", worst.ratio, allowed.ratio);
  if (worst.units > 0) return fmt::format("within {:.2g} units", allowed.units);
  return worst.ratio == 0 ? "equal" : fmt::format("within {:.1g}", allowed.ratio);
}

// Which outputs the verdict is of, where it is not of all.
std::string compared(const VerifiedRow& r) {
  if (r.compared == r.outputs) return "";
  return fmt::format(", {} of {}, seed {}", r.compared, r.outputs, api::kVerifySeed);
}

void print_table(const std::vector<VerifiedRow>& rows, const std::string& runs) {
  const std::vector<std::string> amounts = compared_amounts(rows);
  std::vector<Column> columns = {{"id"}, {"kind", false, 3}, {"correct"}};
  for (const std::string& name : amounts) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    columns.insert(columns.end(), {{words, true}, {"simulator", true, 1}, {"model", true, 2}});
  }
  columns.push_back({"counters"});
  Table table(columns);
  for (const VerifiedRow& r : rows) {
    if (!r.errors.empty()) continue;
    std::vector<std::string> cells = {r.id, r.kind, verdict(r) + compared(r)};
    for (const std::string& name : amounts) {
      const double *run = amount_of(r.run, name), *simulated = amount_of(r.simulator, name);
      const double* model = r.model ? amount_of(*r.model, name) : nullptr;
      cells.push_back(fmt::format("{:.0f}", *run));
      cells.push_back(fmt::format("{:.0f}", *simulated));
      cells.push_back(model != nullptr ? beside(*model, *run) : "-");
    }
    cells.push_back(r.counters_ok ? "equal" : "DIFFER");
    table.add(cells);
  }
  table.print();
  const auto count = [&](auto ok) { return std::count_if(rows.begin(), rows.end(), ok); };
  fmt::print("\ncorrect {0} of {2}, counters {1} of {2}: {3}, simulator\n",
             count([](const VerifiedRow& r) { return r.values_ok; }),
             count([](const VerifiedRow& r) { return r.counters_ok; }), rows.size(),
             runs == "kernel" ? "emitted text on the CPU, Kernel interpreted" : "cores with memory of their own");
}

std::optional<std::vector<VerifiedRow>> verify(const api::ProgramSource& source, const arch::ArchSpec& a, int jobs,
                                               base::Diagnostics& diags) {
  Progress progress("programs");
  return api::verify(source, a, jobs, [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
}

int run(const VerifyOptions& o) {
  base::Diagnostics diags;
  if (!o.scale.empty() && o.scale != "small")
    diags.error({diags.add_source("--scale")}, fmt::format("expected small, got '{}'", o.scale));
  const auto a = o.arch.load_for(&targets::Target::verify, diags);
  auto source = o.programs.read(diags);
  if (!diags.ok()) return report(diags);
  source->workload.small = !o.scale.empty();
  const auto rows = verify(*source, *a, o.jobs, diags);
  if (!rows) return report(diags);
  report_notes(diags);
  const std::string runs = api::runs_of(*a);
  bool every = true;
  for (const VerifiedRow& r : *rows) {
    every = every && r.values_ok && r.counters_ok;
    for (const std::string& e : r.errors) fmt::print(stderr, "{}\n", e);
  }
  if (o.json)
    print_json(api::to_document(*rows, runs), diags);
  else
    print_table(*rows, runs);
  if (!o.json) print_legend(o.legend);
  return every ? kDone : kFailed;
}

}  // namespace

void add_verify(CLI::App& app, int& status) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Run emitted kernels on the CPU: are results correct, and counters equal");
  o->arch.add_to(*command);
  o->programs.add_to(*command, ProgramOptions::kNoBatches, ProgramOptions::kKernels);
  command->add_option("--scale", o->scale, "small: every operator shrunk to what a CPU computes in a moment")
      ->excludes(command->get_option("--program"))
      ->excludes(command->get_option("--kernel"));
  add_jobs(*command, o->jobs);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] {
    o->programs.require_one();
    status = run(*o);
  });
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
// tilescope compile: the best tile programs of an operator or a suite, as a table, as JSON, or as program files.

#include "api/compile.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/emit.h"
#include "api/simulate/evaluate.h"
#include "cli/command.h"
#include "cli/compile_tables.h"
#include "cli/energy_table.h"
#include "cli/legend.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "experiments/accuracy/published.h"

namespace tilescope::cli {
namespace {

using api::CompiledOperator;

struct CompileOptions {
  ArchOptions arch;
  WorkloadOptions workload;
  std::string search = "roller", evaluator = "model", log, folder, print, bands;
  api::SearchOptions trying;  // budget and seed
  int top = 10, jobs = 0;
  bool json = false, nvrtc = false, legend = false, pareto = false, stats = false, energy = false;
};

// Published times are of f32 on the chip as it is: one that was changed is not the one that was measured.
std::optional<experiments::PublishedTimes> published_for(const CompileOptions& o, const api::Workload& w,
                                                         const std::string& chip, base::Diagnostics& diags) {
  if (o.json || !w.suite || !o.arch.is_device(chip) || !api::computes_f32(w)) return {};
  return experiments::load_published(chip, w, diags);
}

std::optional<std::vector<CompiledOperator>> compile(const CompileOptions& o, const api::Workload& w,
                                                     const arch::ArchSpec& a, const api::SearchOptions& search,
                                                     const api::Evaluator& evaluator, base::Diagnostics& diags) {
  const auto keep = static_cast<std::size_t>(o.top);
  Progress progress(evaluator.simulated > 0 ? "simulations" : "operators");
  const api::Progress tell = [&](std::size_t done, std::size_t all) { progress.update(done, all); };
  if (evaluator.simulated > 0) return api::compile_simulated(w, a, search, keep, evaluator, o.jobs, tell, diags);
  return api::compile(w, a, search, keep, o.jobs, tell, diags);
}

// What the chip's compiler makes of every program; false where it makes nothing of one, which it then says.
bool add_usage(const CompileOptions& o, const arch::ArchSpec& a, std::vector<CompiledOperator>& operators) {
  {
    Progress progress("programs");
    api::add_device_usage(operators, a, o.jobs, [&](std::size_t done, std::size_t all) { progress.update(done, all); });
  }
  bool every = true;
  for (const CompiledOperator& op : operators)
    for (std::size_t r = 0; r < op.programs.size(); ++r) {
      if (op.programs[r].usage_error.empty()) continue;
      every = false;
      fmt::print(stderr, "{}: program {}: {}\n", op.id, r, op.programs[r].usage_error);
    }
  return every;
}

// The kernels of every operator's first program.
bool print_kernels(const std::vector<CompiledOperator>& operators, const arch::ArchSpec& a, base::Diagnostics& diags) {
  for (const CompiledOperator& op : operators) {
    if (op.programs.empty()) continue;
    const auto text = api::kernel_text(op.programs.front().document, a, diags);
    if (text)
      fmt::print("{}{}: {}\n\n{}", &op == &operators.front() ? "" : "\n", op.id, op.programs.front().block_tile, *text);
  }
  return diags.ok();
}

// The same as Kernel documents: of one operator the document alone, which --kernel reads.
bool print_kernel_documents(const std::vector<CompiledOperator>& operators, bool suite, const arch::ArchSpec& a,
                            base::Diagnostics& diags) {
  base::List all;
  for (const CompiledOperator& op : operators) {
    if (op.programs.empty()) continue;
    auto kernels = api::kernel_document(op.programs.front().document, a, diags);
    if (kernels) all.emplace_back(base::Map{{"id", op.id}, {"kernel", std::move(*kernels)}});
  }
  if (!diags.ok()) return false;
  if (suite)
    print_json(base::Map{{"operators", std::move(all)}});
  else if (!all.empty())
    print_json(*all.front().find("kernel"));
  return true;
}

void print_one(const CompiledOperator& op, const arch::ArchSpec& a) {
  const bool lists = op.configurations && !op.configurations->rows.empty();
  if (lists) print_configurations(op, a);
  if (lists && !op.programs.empty()) fmt::print("\n");
  if (!op.programs.empty()) print_operator(op, a);
}

// --stats where nothing would count.
void check_stats(const std::optional<api::Search>& search, const std::optional<arch::ArchSpec>& a,
                 base::Diagnostics& diags) {
  if (search && *search != api::Search::kRoller)
    diags.error({diags.add_source("--stats")}, "only --search roller counts what it does");
  if (const std::string why = a ? targets::refused(*a, targets::target_of(*a).statistics) : ""; !why.empty())
    diags.error({diags.add_source("--stats")}, why);
}

int run(const CompileOptions& o) {
  base::Diagnostics diags;
  const api::Workload workload = o.workload.read();
  const auto search = api::search_of(o.search, diags);
  const auto simulated = api::parse_evaluator(o.evaluator);
  if (!simulated)
    diags.error({diags.add_source("--evaluator")}, fmt::format("expected {}, got '{}'", api::kEvaluators, o.evaluator));
  else if (*simulated == 0 && !o.log.empty())
    diags.error({diags.add_source("--log")}, "only the simulator's times are kept; needs --evaluator sim=8");
  auto a = o.print.empty() ? o.arch.load_for(&targets::Target::construct, diags)
           : o.json        ? o.arch.load_for(&targets::Target::emit, diags)
                           : o.arch.load_for(&targets::Target::lower, diags);
  use_bands(o.bands, a, diags);
  if (o.stats) check_stats(search, a, diags);
  if (o.energy && a) check_energy(*a, diags);
  if (!diags.ok()) {
    api::check(workload, diags);
    return report(diags);
  }
  if (const std::string why = o.nvrtc ? api::no_device_compiler(*a) : ""; !why.empty()) {
    fmt::print(stderr, "{}\n", why);
    return kFailed;
  }
  auto operators =
      compile(o, workload, *a, {*search, o.trying.budget, o.trying.seed, o.pareto}, {*simulated, o.log}, diags);
  const auto published = published_for(o, workload, a->name, diags);
  if (!diags.ok()) return report(diags);
  report_notes(diags);
  if (!o.folder.empty() && !write_programs(api::programs_to_write(*operators), o.folder)) return kFailed;
  bool every = report_operators(*operators);
  if (o.nvrtc) every = add_usage(o, *a, *operators) && every;
  if (!o.print.empty() && !(o.json ? print_kernel_documents(*operators, o.workload.is_suite(), *a, diags)
                                   : print_kernels(*operators, *a, diags)))
    return report(diags);
  if (!o.print.empty()) return every ? kDone : kFailed;
  if (o.json)
    print_json(api::to_document(*operators, o.stats), diags);
  else if (o.workload.is_suite())
    print_suite(*operators, published);
  else
    print_one(operators->front(), *a);
  if (o.nvrtc && !o.json) print_usage(*operators);
  if (o.stats && !o.json) print_stats(*operators);
  if (o.energy && !o.json) print_energy(*operators);
  if (!o.json) print_legend(o.legend);
  return every ? kDone : kFailed;
}

}  // namespace

void add_compile(CLI::App& app, int& status) {
  auto o = std::make_shared<CompileOptions>();
  CLI::App* command = app.add_subcommand("compile", "Construct the best tile programs of an operator or a suite");
  o->arch.add_to(*command);
  o->workload.add_to(*command);
  o->workload.add_restrictions(*command);
  o->workload.add_sequence(*command);
  add_search(*command, o->search);
  add_search_budget(*command, "Programs a stage that a search which tries programs may try", o->trying.budget,
                    o->trying.seed);
  command->add_option("--top", o->top, "How many of the best programs of every operator are kept")
      ->check(whole_number(1, 1000))
      ->excludes(command->get_option("--sequence"))
      ->capture_default_str();
  CLI::Option* evaluator =
      command
          ->add_option("--evaluator", o->evaluator,
                       "Who ranks programs: model, or sim=8, the simulator among the model's first eight and as many "
                       "others of its list")
          ->excludes(command->get_option("--sequence"))
          ->capture_default_str();
  command->add_option("--log", o->log, "File of simulated times: added to, and read where they are known")
      ->check(some_text());
  CLI::Option* pareto =
      command
          ->add_flag("--pareto", o->pareto,
                     "Keep the programs that no other beats both in time and in what they need of a core's memory")
          ->excludes(command->get_option("--sequence"))
          ->excludes(evaluator);
  CLI::Option* stats = command->add_flag(
      "--stats", o->stats,
      "Also show what each construction cost, and of a single stage by how much a program may beat the first at most");
  stats->excludes(pareto);
  command->add_flag("--energy", o->energy,
                    "Also show power and energy, and the time at the clock that the board's power limit leaves");
  add_jobs(*command, o->jobs);
  command
      ->add_option("-o,--output", o->folder,
                   "Folder to write every program to, as ID.RANK.json (--program), and all to programs.jsonl (--batch)")
      ->check(some_text());
  CLI::Option* print =
      command
          ->add_option(
              "--print", o->print,
              "kernel: print the kernels of every first program in place of tables; with --json as --kernel reads them")
          ->check(CLI::IsMember({"kernel"}))
          ->excludes(stats);
  command
      ->add_flag("--nvrtc", o->nvrtc,
                 "Have the chip's own compiler compile every program: registers, spills, shared memory")
      ->excludes(print);
  add_bands(*command, o->bands);
  add_legend(*command, o->legend);
  add_json(*command, o->json);
  command->callback([o, &status] {
    o->workload.require();
    status = run(*o);
  });
}

}  // namespace tilescope::cli

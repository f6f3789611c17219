// tilescope compile: the best tile programs of an operator or a suite, as a table, as JSON, or as program files.

#include "experiments/compile.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/compile_tables.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "experiments/published.h"

namespace tilescope::cli {
namespace {

using experiments::CompiledOperator;

struct Options {
  ArchOptions arch;
  experiments::Workload workload;
  std::string dtype = "f32", search = "roller", folder;
  int top = 10, jobs = 0;
  bool json = false;
};

// One program as a file of its own; says why where it cannot be written.
bool write_program(const base::Value& program, const std::string& path) {
  errno = 0;
  std::ofstream out(path);
  out << base::to_json(program, 1) << '\n';
  if (out.flush()) return true;
  fmt::print(stderr, "{}: cannot be written: {}\n", path, std::strerror(errno));
  return false;
}

// Every program as ID.RANK.json.
bool write_programs(const std::vector<CompiledOperator>& operators, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    fmt::print(stderr, "{}: cannot be made: {}\n", folder, failed.message());
    return false;
  }
  for (const CompiledOperator& op : operators)
    for (std::size_t r = 0; r < op.programs.size(); ++r)
      if (!write_program(op.programs[r].document, fmt::format("{}/{}.{}.json", folder, op.id, r))) return false;
  return true;
}

std::optional<base::Dtype> dtype_of(const std::string& name, base::Diagnostics& diags) {
  const auto found = base::dtype_of(name);
  if (found) return found;
  const std::vector<std::string_view> names = base::dtype_names();
  diags.error({diags.add_source("--dtype")}, fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "), name,
                                                         base::did_you_mean(name, names)));
  return std::nullopt;
}

// Published times are of f32 on the chip as it is: one that was changed is not the one that was measured.
std::optional<experiments::PublishedTimes> published_for(const Options& o, const std::string& chip,
                                                         base::Diagnostics& diags) {
  if (o.json || !o.workload.suite || !o.arch.is_device(chip) || o.workload.dtype != base::Dtype::kF32) return {};
  return experiments::load_published(chip, *o.workload.suite, diags);
}

std::optional<std::vector<CompiledOperator>> compile(const Options& o, const arch::ArchSpec& a,
                                                     experiments::Search search, base::Diagnostics& diags) {
  Progress progress("operators");
  return experiments::compile(
      o.workload, a, search, static_cast<std::size_t>(o.top), o.jobs,
      [&](std::size_t done, std::size_t all) { progress.update(done, all); }, diags);
}

int run(Options& o) {
  base::Diagnostics diags;
  const auto dtype = dtype_of(o.dtype, diags);
  const auto search = experiments::search_of(o.search, diags);
  const auto a = o.arch.load_with_cores(diags);
  o.workload.dtype = dtype.value_or(base::Dtype::kF32);
  if (!diags.ok()) {
    experiments::check(o.workload, diags);
    return report(diags);
  }
  const auto operators = compile(o, *a, *search, diags);
  const auto published = published_for(o, a->name, diags);
  if (!diags.ok()) return report(diags);
  report_notes(diags);
  if (!o.folder.empty() && !write_programs(*operators, o.folder)) return kFailed;
  bool every = true;
  for (const CompiledOperator& op : *operators) {
    every = every && !op.programs.empty();
    if (!op.error.empty()) fmt::print(stderr, "{}: {}\n", op.id, op.error);
  }
  if (o.json)
    print_json(experiments::to_document(*operators));
  else if (o.workload.suite)
    print_suite(*operators, published);
  else if (every)
    print_operator(operators->front(), *a);
  return every ? kDone : kFailed;
}

}  // namespace

void add_compile(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compile", "Construct the best tile programs of an operator or a suite");
  o->arch.add_to(*command);
  CLI::Option* op = command->add_option("--op", o->workload.op, "Index notation: 'C[m,n] +=! A[m,k] * B[k,n]'");
  CLI::Option* suite =
      command->add_option("--suite", o->workload.suite, "A named list of operators")->check(some_text());
  op->excludes(suite);
  command->add_option("--size", o->workload.sizes, "Ranges of axes: m=4096,n=4096,k=4096")->needs(op);
  command->add_option("--shape", o->workload.shapes, "Shapes of tensors: I=128,1024,14,14;W=...")->needs(op);
  command->add_option("--dtype", o->dtype, "Element type: f32, f16, bf16, i8 or i32")->capture_default_str();
  command->add_option("--search", o->search, "roller or roller-osdi22")->capture_default_str();
  command->add_option("--top", o->top, "Programs an operator")->check(whole_number(1, 1000))->capture_default_str();
  add_jobs(*command, o->jobs);
  command->add_option("-o,--output", o->folder, "Folder to write every program to, as ID.RANK.json")
      ->check(some_text());
  command->add_flag("--json", o->json, "One JSON document on stdout");
  command->callback([o, op, suite, &status] {
    if (op->empty() && suite->empty()) throw CLI::RequiredError("--op or --suite");
    status = run(*o);
  });
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
// tilescope emit: a program's kernels as CUDA C++ or HIP.

#include "api/emit.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct Options {
  ArchOptions arch;
  std::string program, kernels, dialect = "cuda", file;
  bool json = false;
};

int run(const Options& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  const bool program = o.kernels.empty();
  const std::string& name = program ? o.program : o.kernels;
  const auto text =
      base::read_file(name, diags.add_source(name), diags, program ? base::DocumentLimits{} : api::kKernelFileLimits);
  const auto emit = program ? &api::emit_program : &api::emit_kernels;
  const auto emitted = diags.ok() ? emit({name, *text}, o.dialect, *a, diags) : std::nullopt;
  if (!emitted) return report(diags);
  report_notes(diags);
  if (!o.file.empty() && !write_text(emitted->text, o.file)) return kFailed;
  if (o.json)
    print_json(emitted->document);
  else if (o.file.empty())
    fmt::print("{}", emitted->text);
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("emit", "Print a program's kernels as CUDA C++ or HIP");
  o->arch.add_to(*command);
  CLI::Option* program =
      command->add_option("--program", o->program, "A program file (compile -o)")->check(some_text());
  CLI::Option* kernels = add_kernel_file(*command, o->kernels, {program});
  command->add_option("--dialect", o->dialect, "The language of the kernels: cuda or hip")->capture_default_str();
  command->add_option("-o,--output", o->file, "The file to write the kernels to; stdout where it is left out")
      ->check(some_text());
  add_json(*command, o->json);
  command->callback([o, program, kernels, &status] {
    if (program->empty() && kernels->empty()) throw CLI::RequiredError("--program or --kernel");
    status = run(*o);
  });
}

}  // namespace tilescope::cli

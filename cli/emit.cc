// SPDX-License-Identifier: Apache-2.0
// tilescope emit: kernels of a program, or of a whole network with what launches them, as CUDA C++ or HIP.

#include "api/emit.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "api/network/emit.h"
#include "cli/command.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct EmitOptions {
  ArchOptions arch;
  std::string program, kernels, dialect = "cuda", file, fuse, log;
  api::NetworkSource network;
  int jobs = 0;
  bool json = false, schema = false, host = false;
};

bool write_files(const std::vector<api::EmittedFile>& files, const std::string& folder) {
  for (const api::EmittedFile& f : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / f.name;
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    if (failed) fmt::print(stderr, "{}: cannot be made: {}\n", path.parent_path().string(), failed.message());
    if (failed || !write_text(f.text, path.string())) return false;
  }
  return true;
}

int run_network(const EmitOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  if (!a) return report(diags);
  Phases phases;
  const auto emitted =
      api::emit_network(o.network, *a, {fuse_of(o.fuse), o.jobs, o.log, o.dialect, phases.phase("nodes")}, diags);
  if (!emitted) return report(diags);
  report_notes(diags);
  if (!write_files(emitted->files, o.file)) return kFailed;
  if (o.json) {
    base::List files;
    for (const api::EmittedFile& f : emitted->files) files.emplace_back(f.name);
    print_json(base::Map{{"files", std::move(files)},
                         {"programs", emitted->programs},
                         {"kernels", emitted->kernels},
                         {"launches", emitted->launches},
                         {"bytes", emitted->bytes}},
               diags);
  } else {
    fmt::print("{}: {} programs, {} kernels, {} launches, {:.4g} MB; build it with make\n", o.file, emitted->programs,
               emitted->kernels, emitted->launches, 1e-6 * emitted->bytes);
  }
  return kDone;
}

int run(const EmitOptions& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_for(&targets::Target::emit, diags);
  const bool program = o.kernels.empty();
  const std::string& name = program ? o.program : o.kernels;
  const auto text =
      base::read_file(name, diags.add_source(name), diags, program ? base::DocumentLimits{} : api::kKernelFileLimits);
  if (o.host) {
    const auto files =
        diags.ok() ? api::emit_with_launcher({name, *text}, program, o.dialect, *a, diags) : std::nullopt;
    if (!files) return report(diags);
    report_notes(diags);
    if (!write_files(*files, o.file)) return kFailed;
    fmt::print("{}: kernels.cu and launch.cc; build them with make\n", o.file);
    return kDone;
  }
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
  auto o = std::make_shared<EmitOptions>();
  CLI::App* command = app.add_subcommand("emit", "Print a program's kernels as CUDA C++ or HIP, or write a network's");
  o->arch.add_to(*command, ArchOptions::kMayBeAbsent);
  CLI::Option* program =
      command->add_option("--program", o->program, "A program file (compile -o)")->check(some_text());
  CLI::Option* kernels = add_kernel_file(*command, o->kernels, {program});
  command
      ->add_option("--dialect", o->dialect, "The language of the kernels: cuda, hip, or cpu, C++ as verify compiles it")
      ->capture_default_str();
  command
      ->add_option(
          "-o,--output", o->file,
          "The file to write the kernels to; stdout where it is left out. With --host or --network, the folder")
      ->check(some_text());
  CLI::Option* network =
      command
          ->add_option("--network", o->network.name,
                       "A network, by its name (network list) or file: its kernels, and a program that launches them")
          ->check(some_text())
          ->excludes(program)
          ->excludes(kernels)
          ->needs("--output");
  command->add_option("--size", o->network.sizes, "Values of the network's variables: batch=64,seq=512")
      ->check(some_text())
      ->needs(network);
  command->add_option("--dtype", o->network.dtype, "Element type of all its real numbers: f32, f16, bf16 or f64")
      ->check(some_text())
      ->needs(network);
  command->add_option("--pass", o->network.passes, "Its simplifications: all where absent, or none, or their names")
      ->check(some_text())
      ->needs(network);
  add_fuse(*command, o->fuse);
  command->get_option("--fuse")->needs(network);
  command->add_option("--log", o->log, "File of constructed programs: added to, and read where they are known")
      ->check(some_text())
      ->needs(network);
  command
      ->add_flag("--host", o->host,
                 "Also write a program that launches and times the kernels by the CUDA driver, and a Makefile")
      ->needs("--output")
      ->excludes(network);
  command->add_flag("--schema", o->schema, "The JSON Schema of Kernel documents, for editors and other tools")
      ->excludes(program)
      ->excludes(kernels)
      ->excludes(network);
  add_jobs(*command, o->jobs);
  add_json(*command, o->json);
  command->callback([o, program, kernels, network, &status] {
    if (o->schema) {
      print_json(api::kernels_schema());
      status = kDone;
      return;
    }
    if (!o->arch.given()) throw CLI::RequiredError("--arch");
    if (program->empty() && kernels->empty() && network->empty())
      throw CLI::RequiredError("--program, --kernel or --network");
    status = network->empty() ? run(*o) : run_network(*o);
  });
}

}  // namespace tilescope::cli

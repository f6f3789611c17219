// tilescope emit: a program's kernels as CUDA C++.

#include "experiments/emit.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/usage.h"

namespace tilescope::cli {
namespace {

struct Options {
  ArchOptions arch;
  std::string program, dialect = "cuda", file;
  bool json = false;
};

// Says why where the file cannot be written.
bool write(const std::string& text, const std::string& file) {
  errno = 0;
  std::ofstream out(file);
  out << text;
  if (out.flush()) return true;
  fmt::print(stderr, "{}: cannot be written: {}\n", file, std::strerror(errno));
  return false;
}

int run(const Options& o) {
  base::Diagnostics diags;
  const auto a = o.arch.load_with_cores(diags);
  const auto text = base::read_file(o.program, diags.add_source(o.program), diags);
  if (o.dialect != "cuda")
    diags.error({diags.add_source("--dialect")},
                fmt::format("expected cuda, got '{}'{}", o.dialect,
                            o.dialect == "hip" ? "; hip is not part of this version" : ""));
  const auto emitted = diags.ok() ? experiments::emit_cuda({o.program, *text}, *a, diags) : std::nullopt;
  if (!emitted) return report(diags);
  report_notes(diags);
  if (!o.file.empty() && !write(emitted->text, o.file)) return kFailed;
  if (o.json)
    print_json(emitted->document);
  else if (o.file.empty())
    fmt::print("{}", emitted->text);
  return kDone;
}

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("emit", "Print a program's kernels as CUDA C++");
  o->arch.add_to(*command);
  command->add_option("--program", o->program, "A program file (compile -o)")->required()->check(some_text());
  command->add_option("--dialect", o->dialect, "cuda")->capture_default_str();
  command->add_option("-o,--output", o->file, "File to write to; stdout otherwise")->check(some_text());
  add_json(*command, o->json);
  command->callback([o, &status] { status = run(*o); });
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
// The one binary: parses the command line, calls one function of api/ or experiments/, prints.

#include <clocale>
#include <cstdio>
#include <exception>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "api/simulate/code_version.h"
#include "base/check.h"
#include "base/option.h"
#include "cli/command.h"
#include "cli/legend.h"
#include "cli/usage.h"

namespace {

// Searches free what the next one asks for again: memory that went back to the system in between would have to be
// cleared each time, a tenth of the time of a suite.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kKept = 256 << 20, kGrowth = 16 << 20;  // bytes
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, kGrowth);
#endif
}

int run(int argc, char** argv) {
  using namespace tilescope;
  CLI::App app("Tilescope: tile programs for chips that do not exist yet, and how long they will take", "tilescope");
  app.require_subcommand(1);
  app.set_version_flag("--version", api::version());
  app.add_flag_callback(
      "--legend",
      [] {
        cli::print_whole_legend();
        throw CLI::Success();
      },
      "What the columns of tables and the shorthand of layouts mean");
  int status = cli::kDone;
#define TILESCOPE_ADD(name) cli::add_##name(app, status);
  TILESCOPE_SUBCOMMANDS(TILESCOPE_ADD)
#undef TILESCOPE_ADD
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))  // --help, --version
      return app.exit(e);
    fmt::print(stderr, "{}\n", cli::usage_error(app, e));
    return cli::kBadInput;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  tilescope::base::spell_options_with("--");
  std::setlocale(LC_CTYPE, "C.UTF-8");
  try {
    const int status = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    fmt::print(stderr, "tilescope: standard output cannot be written\n");
    return tilescope::cli::kFailed;
  } catch (const std::exception& e) {
    fmt::print(stderr, "tilescope: {}\n", e.what());
    return tilescope::cli::kFailed;
  }
}

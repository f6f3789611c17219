// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the commands share: every command adds itself to the application and, when it is the one that was given, runs
// and leaves its exit status.

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "arch/load.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/dtype.h"
#include "experiments/common/json_rows.h"
#include "targets/target.h"

namespace tilescope::cli {

// Exit statuses of every command (docs/design.md, The command line).
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;

// Every subcommand, in the order of --help: X(arch) stands for add_arch.
#define TILESCOPE_SUBCOMMANDS(X)                                                                                     \
  X(arch)                                                                                                            \
  X(diff)                                                                                                            \
  X(compile)                                                                                                         \
  X(predict) X(compare) X(explain) X(calibrate) X(simulate) X(trace) X(emit) X(verify) X(measure) X(sweep) X(status) \
      X(merge) X(export) X(report) X(search_quality) X(suite) X(doctor)

// Each adds its subcommand; running it writes its exit status to `status`.
#define TILESCOPE_ADD(name) void add_##name(CLI::App& app, int& status);
TILESCOPE_SUBCOMMANDS(TILESCOPE_ADD)
#undef TILESCOPE_ADD

// The chip of --arch with its --set overrides: options that most commands have.
class ArchOptions {
 public:
  enum Form { kOption, kPositional, kAsItIs };
  // Adds --arch (or the chip as the command's one argument) and --set, but for a chip that is taken as it is.
  void add_to(CLI::App& command, Form form = kOption);
  // Nothing after errors in `diags`.
  std::optional<arch::ArchSpec> load(base::Diagnostics& diags, arch::Use use = arch::Use::kLook) const;
  // The same to run programs on, and an error where the chip's class lacks the capability that a command needs.
  template <class Capability>
  std::optional<arch::ArchSpec> load_for(Capability targets::Target::* capability, base::Diagnostics& diags) const {
    auto a = load(diags, arch::Use::kRun);
    const std::string refusal = a ? targets::why_unsupported(*a, capability) : std::string();
    if (refusal.empty()) return a;
    diags.error({diags.add_source("--arch " + arch_)}, refusal);
    return std::nullopt;
  }
  // The chip with one more override on top of --set.
  std::optional<arch::ArchSpec> load_with(const arch::Override& one_more, base::Diagnostics& diags) const;
  // A device name or a file, as it was given.
  const std::string& name() const { return arch_; }
  // --arch is that device of `arch list`, and nothing is changed.
  bool is_device(std::string_view name) const { return arch_ == name && sets_.empty(); }

 private:
  std::vector<arch::Override> overrides(base::Diagnostics& diags) const;

  std::string arch_;
  std::vector<std::string> sets_;
};

// Adds --error-bands: whether times carry error bands that were measured of something else.
void add_bands(CLI::App& command, std::string& bands);
// Has the chip's bands shown anywhere where it says so; an error where it says neither.
void use_bands(const std::string& bands, std::optional<arch::ArchSpec>& a, base::Diagnostics& diags);

// Adds --dtype: the element type of operators that say none.
void add_dtype(CLI::App& command, std::string& dtype);
// What it says; nothing where it is empty, or after an error.
std::optional<base::Dtype> dtype_option(const std::string& dtype, base::Diagnostics& diags);

// Errors to stderr, one a line; then the status of bad input.
int report(const base::Diagnostics& diags);
// Notes to stderr.
void report_notes(const base::Diagnostics& diags);

// Adds --jobs: threads or worker processes, as many as the machine has where it is not given.
void add_jobs(CLI::App& command, int& jobs);

// Adds --json: a document for programs in place of tables.
CLI::Option* add_json(CLI::App& command, bool& json);

// One JSON document on stdout.
void print_json(const base::Value& document);
// The same of a map, with the notes as its last entry, `notes`, where there are any.
void print_json(base::Value document, const base::Diagnostics& diags);

// Writes a file, which appears whole or not at all; says why, on stderr, where it cannot be written.
bool write_text(const std::string& text, const std::string& file);

// What is wrong with rows, to stderr; the status of bad input where anything is.
template <class Row>
int report_rows(const std::vector<Row>& rows) {
  int status = kDone;
  for (const Row& r : rows)
    for (const std::string& e : r.errors) {
      status = kBadInput;
      fmt::print(stderr, "{}\n", e);
    }
  return status;
}

// Why operators have no result, to stderr; false where any has none.
template <class Operator>
bool report_operators(const std::vector<Operator>& operators) {
  bool every = true;
  for (const Operator& op : operators) {
    if (op.error.empty()) continue;
    every = false;
    fmt::print(stderr, "{}: {}\n", op.id, op.error);
  }
  return every;
}

// {"rows":[...],"summary":{...}} on stdout.
template <class Row>
void print_rows(const std::vector<Row>& rows, const base::Value& summary, int jobs) {
  experiments::write_json_rows(rows.size(), jobs, [&](std::size_t i) { return to_document(rows[i]); }, summary, stdout);
}

}  // namespace tilescope::cli

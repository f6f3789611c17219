// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared code of the commands. Every command adds itself to the application; the one that was given runs and leaves its
// exit status.

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "arch/load.h"
#include "base/describe.h"
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
// clang-format off
#define TILESCOPE_SUBCOMMANDS(X) \
  X(arch) X(diff) X(compile) X(predict) X(compare) X(explain) X(limit) X(calibrate) X(simulate) X(trace) X(emit) \
  X(verify) X(measure) X(sweep) X(status) X(merge) X(export) X(report) X(sensitivity) X(search_quality) X(suite) X(network) \
  X(import) X(doctor) X(complete)
// clang-format on

// Each adds its subcommand; running it writes its exit status to `status`.
#define TILESCOPE_ADD(name) void add_##name(CLI::App& app, int& status);
TILESCOPE_SUBCOMMANDS(TILESCOPE_ADD)
#undef TILESCOPE_ADD

// The chip of --arch with its --set overrides: options that most commands have.
class ArchOptions {
 public:
  enum Form { kOption, kPositional, kAsItIs, kMayBeAbsent };
  // Adds --arch (or the chip as the command's one argument) and, unless the chip is taken as it is, --set.
  void add_to(CLI::App& command, Form form = kOption);
  // Loads the chip; nullopt after errors in `diags`.
  std::optional<arch::ArchSpec> load(base::Diagnostics& diags, arch::Use use = arch::Use::kLook) const;
  // Loads the chip to run programs on it. Adds an error if the chip's class lacks the capability that the command
  // needs.
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
  bool given() const { return !arch_.empty(); }
  // A device name or a file, as it was given.
  const std::string& name() const { return arch_; }
  // Whether --arch is that device of `arch list` and there is no --set.
  bool is_device(std::string_view name) const { return arch_ == name && sets_.empty(); }
  // Whether there is a --set.
  bool is_changed() const { return !sets_.empty(); }
  // Each --set as it was given.
  const std::vector<std::string>& changes() const { return sets_; }

 private:
  std::vector<arch::Override> overrides(base::Diagnostics& diags) const;

  std::string arch_;
  std::vector<std::string> sets_;
};

// Adds --error-bands: whether times also carry error bands that were measured on another chip, kind of operator or
// element type.
void add_bands(CLI::App& command, std::string& bands);
// Applies --error-bands: "extrapolated" makes the chip's bands apply everywhere, "measured" changes nothing, and any
// other value is an error.
void use_bands(const std::string& bands, std::optional<arch::ArchSpec>& a, base::Diagnostics& diags);

// Adds --dtype: the element types of operators that state none, as Workload::dtype has them.
void add_dtype(CLI::App& command, std::string& dtype);

// Prints errors to stderr, one per line; returns the status of bad input.
int report(const base::Diagnostics& diags);
// Prints a file to stdout; the status.
int print_file(const std::string& path);
// Prints notes to stderr.
void report_notes(const base::Diagnostics& diags);

// Adds --jobs: the number of threads or worker processes, by default the number that the machine has.
void add_jobs(CLI::App& command, int& jobs);

// Adds --json: a JSON document instead of tables.
CLI::Option* add_json(CLI::App& command, bool& json);

// Adds the notes, if any, as the entry `notes`.
void add_notes(const base::Diagnostics& diags, base::Map& document);

// Prints one JSON document to stdout.
void print_json(const base::Value& document);
// Likewise for a map; adds the notes, if any, as its last entry, `notes`.
void print_json(base::Value document, const base::Diagnostics& diags);

// Writes a file, which appears complete or not at all. If it cannot be written, prints the reason to stderr and returns
// false.
bool write_text(const std::string& text, const std::string& file);

// Prints the errors of rows to stderr; returns the status of bad input if there are any.
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

// Prints to stderr why operators have no result; returns false if any has none.
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

// Prints {"rows":[...],"summary":{...}} to stdout; adds the notes, if any, as its last entry, `notes`.
template <class Row>
void print_rows(const std::vector<Row>& rows, const base::Value& summary, int jobs, const base::Diagnostics& diags) {
  base::Map others = {{"summary", summary}};
  add_notes(diags, others);
  experiments::write_json_rows(
      rows.size(), jobs, [&](std::size_t i) { return base::to_entries(rows[i]); }, others, stdout);
}

}  // namespace tilescope::cli

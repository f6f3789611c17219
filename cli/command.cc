// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/common/new_file.h"
#include "cli/overrides.h"
#include "cli/usage.h"

namespace tilescope::cli {

void ArchOptions::add_to(CLI::App& command, Form form) {
  CLI::Option* arch = command
                          .add_option(form == kPositional ? "arch" : "--arch", arch_,
                                      "The chip: a device name (arch list) or a YAML file")
                          ->required(form != kMayBeAbsent)
                          ->check(some_text());
  if (form == kAsItIs) return;
  command.add_option("--set", sets_, "path=value: override the chip by its YAML's own paths; repeatable")
      ->allow_extra_args(false)
      ->needs(arch);
}

std::vector<arch::Override> read_overrides(const std::vector<std::string>& sets, base::Diagnostics& diags) {
  std::vector<arch::Override> out;
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      diags.error({diags.add_source("--set " + set)}, "expected path=value, such as memory.smem.banks=16");
      continue;
    }
    out.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return out;
}

std::vector<arch::Override> ArchOptions::overrides(base::Diagnostics& diags) const {
  return read_overrides(sets_, diags);
}

std::optional<arch::ArchSpec> ArchOptions::load(base::Diagnostics& diags, arch::Use use) const {
  auto a = arch::load_arch(arch_, overrides(diags), diags, use);
  if (!diags.ok()) return std::nullopt;
  return a;
}

std::optional<arch::ArchSpec> ArchOptions::load_with(const arch::Override& one_more, base::Diagnostics& diags) const {
  std::vector<arch::Override> all = overrides(diags);
  all.push_back(one_more);
  return arch::load_arch(arch_, all, diags);
}

void add_bands(CLI::App& command, std::string& bands) {
  command
      .add_option("--error-bands", bands,
                  "Error bands of times: measured, only where they were (this chip, kind and element type), or anyway, "
                  "marked ~ elsewhere")
      ->default_str("measured");
}

void use_bands(const std::string& bands, std::optional<arch::ArchSpec>& a, base::Diagnostics& diags) {
  if (bands == "extrapolated") {
    if (a) a->error_bands_anyway = true;
  } else if (!bands.empty() && bands != "measured") {
    diags.error({diags.add_source("--error-bands")},
                fmt::format("expected measured or extrapolated, got '{}'{}", bands,
                            base::did_you_mean(bands, {"measured", "extrapolated"})));
  }
}

void add_dtype(CLI::App& command, std::string& dtype) {
  command
      .add_option("--dtype", dtype,
                  fmt::format("Element type of operators that state none: {}; by tensor in A=i8,B=bf16,accumulate=f32, "
                              "with the distribution of a table's indices in T=i32:sorted; where absent, as a suite's "
                              "file says, or f32",
                              fmt::join(base::dtype_names(), ", ")))
      ->check(some_text());
}

int report(const base::Diagnostics& diags) {
  for (const std::string& line : diags.formatted_errors()) fmt::print(stderr, "{}\n", line);
  return kBadInput;
}

int print_file(const std::string& path) {
  base::Diagnostics diags;
  const auto text = base::read_file(path, diags.add_source(path), diags);
  if (!text) return report(diags);
  fmt::print("{}", *text);
  return kDone;
}

void report_notes(const base::Diagnostics& diags) {
  for (const base::Diagnostic& note : diags.notes()) fmt::print(stderr, "note: {}\n", diags.format(note));
}

void add_jobs(CLI::App& command, int& jobs) {
  jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  command.add_option("--jobs", jobs, "Threads, or worker processes, that share the work; results do not depend on it")
      ->check(whole_number(1, 256))
      ->capture_default_str();
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "One JSON document on stdout in place of tables (docs/json.md)");
}

void print_json(const base::Value& document) { fmt::print("{}\n", base::to_json(document, 1)); }

void add_notes(const base::Diagnostics& diags, base::Map& document) {
  base::List notes;
  for (const base::Diagnostic& note : diags.notes()) notes.emplace_back(diags.format(note));
  if (!notes.empty()) document.push_back({"notes", std::move(notes)});
}

void print_json(base::Value document, const base::Diagnostics& diags) {
  add_notes(diags, *document.get_if<base::Map>());
  print_json(document);
}

bool write_text(const std::string& text, const std::string& file) {
  try {
    api::NewFile out(file);
    out.write(text);
    out.finish();
    return true;
  } catch (const std::runtime_error& why) {
    fmt::print(stderr, "{}\n", why.what());
    return false;
  }
}

}  // namespace tilescope::cli

#include "cli/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/usage.h"

namespace tilescope::cli {

void ArchOptions::add_to(CLI::App& command, Form form) {
  command
      .add_option(form == kPositional ? "arch" : "--arch", arch_, "The chip: a device name (arch list) or a YAML file")
      ->required()
      ->check(some_text());
  if (form == kAsItIs) return;
  command.add_option("--set", sets_, "path=value: override the chip by its YAML's own paths; repeatable")
      ->allow_extra_args(false);
}

std::vector<arch::Override> ArchOptions::overrides(base::Diagnostics& diags) const {
  std::vector<arch::Override> out;
  for (const std::string& set : sets_) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      diags.error({diags.add_source("--set " + set)}, "expected path=value, such as memory.smem.banks=16");
      continue;
    }
    out.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return out;
}

std::optional<arch::ArchSpec> ArchOptions::load(base::Diagnostics& diags, arch::Use use) const {
  auto a = arch::load_arch(arch_, overrides(diags), diags, use);
  if (!diags.ok()) return std::nullopt;
  return a;
}

std::optional<arch::ArchSpec> ArchOptions::load_with_cores(base::Diagnostics& diags) const {
  auto a = load(diags, arch::Use::kRun);
  if (!a || a->chip_class == arch::ChipClass::kGpu) return a;
  diags.error(
      {diags.add_source("--arch " + arch_)},
      fmt::format("{} is a chip of class {}; programs need one of class gpu", a->name, class_name(a->chip_class)));
  return std::nullopt;
}

std::optional<arch::ArchSpec> ArchOptions::load_with(const arch::Override& one_more, base::Diagnostics& diags) const {
  std::vector<arch::Override> all = overrides(diags);
  all.push_back(one_more);
  return arch::load_arch(arch_, all, diags);
}

void add_dtype(CLI::App& command, std::string& dtype) {
  command
      .add_option("--dtype", dtype,
                  fmt::format("Element type of operators that say none: {}; where it is left out, as a suite's file "
                              "says, or f32",
                              fmt::join(base::dtype_names(), ", ")))
      ->check(some_text());
}

std::optional<base::Dtype> dtype_option(const std::string& dtype, base::Diagnostics& diags) {
  if (dtype.empty()) return std::nullopt;
  if (const auto known = base::dtype_of(dtype)) return known;
  const std::vector<std::string_view> names = base::dtype_names();
  diags.error({diags.add_source("--dtype")}, fmt::format("expected one of {}, got '{}'{}", fmt::join(names, ", "),
                                                         dtype, base::did_you_mean(dtype, names)));
  return std::nullopt;
}

std::string_view class_name(arch::ChipClass c) {
  switch (c) {
    case arch::ChipClass::kGpu:
      return "gpu";
    case arch::ChipClass::kBsp:
      return "bsp";
    case arch::ChipClass::kMemory:
      return "memory";
  }
  return "";
}

int report(const base::Diagnostics& diags) {
  for (const std::string& line : diags.formatted_errors()) fmt::print(stderr, "{}\n", line);
  return kBadInput;
}

void report_notes(const base::Diagnostics& diags) {
  for (const base::Diagnostic& note : diags.notes()) fmt::print(stderr, "note: {}\n", diags.format(note));
}

void add_jobs(CLI::App& command, int& jobs) {
  jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  command.add_option("--jobs", jobs, "Threads, or worker processes")
      ->check(whole_number(1, 256))
      ->capture_default_str();
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "One JSON document on stdout");
}

void print_json(const base::Value& document) { fmt::print("{}\n", base::to_json(document, 1)); }

bool write_text(const std::string& text, const std::string& file) {
  errno = 0;
  std::ofstream out(file);
  out << text;
  if (out.flush()) return true;
  fmt::print(stderr, "{}: cannot be written: {}\n", file, std::strerror(errno));
  return false;
}

}  // namespace tilescope::cli

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/toolchain.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/cache.h"
#include "backends/cuda/process.h"
#include "base/hash.h"
#include "base/home.h"

namespace tilescope::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRuntimeFolder = "backends/cuda/host";

// What every translation unit is compiled with. Registers that were not written hold a pattern and not yesterday's
// value;
// products and sums are joined only where the text says so; integers wrap as the chip's do.
std::vector<std::string> common_flags() {
  return {"-std=c++20", "-fno-strict-aliasing", "-ffp-contract=off", "-fwrapv", "-ftrivial-auto-var-init=pattern"};
}

// -Og: of kernels with a few million multiply-adds, compiling and running together take the least (-O1 compiles nearly
// twice as long, -O0 runs twice as long).
std::vector<std::string> kernel_flags(HostBuild build) {
  if (build == HostBuild::kValues) return {"-Og", "-g1", "-fsanitize=address", "-fno-omit-frame-pointer"};
  return {"-Og", "-fsanitize=thread"};
}

std::vector<std::string> runtime_flags(HostBuild build) {
  if (build == HostBuild::kValues) return {"-O1", "-g1", "-fsanitize=address", "-fno-omit-frame-pointer"};
  return {"-O2"};
}

std::vector<std::string> link_flags(HostBuild build) {
  std::vector<std::string> out = {"-lboost_context"};
  if (build == HostBuild::kValues) out.emplace_back("-fsanitize=address");
  return out;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// $CXX may hold options, or a launcher before the compiler.
std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string first_lines(const std::string& text) {
  constexpr std::size_t kMaxValue = 4000;
  return text.size() <= kMaxValue ? text : text.substr(0, kMaxValue) + "...";
}

// The folder that includes are written from.
std::string source_root() {
  return fs::path(base::home_path(kRuntimeFolder)).parent_path().parent_path().parent_path().string();
}

// The runtime as one translation unit: its headers are read once.
std::string runtime_unit(HostBuild build) {
  const std::string_view watch = build == HostBuild::kCounting ? "watch_counting" : "watch_values";
  std::string out;
  for (const std::string_view name :
       {std::string_view("boxes"), std::string_view("clocks"), std::string_view("count"), std::string_view("fibers"),
        std::string_view("machine"), std::string_view("main"), std::string_view("mbarriers"), std::string_view("place"),
        std::string_view("shadow"), watch})
    out += fmt::format("#include \"{}/{}.cc\"\n", kRuntimeFolder, name);
  return out;
}

}  // namespace

Toolchain::Toolchain(std::string cache_folder)
    : folder_(std::move(cache_folder)), compiler_(words(environment("CXX"))) {
  if (compiler_.empty()) compiler_ = {"g++"};
  std::vector<std::string> ask = compiler_;
  ask.emplace_back("--version");
  const Finished version = run_program(ask);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!version.ok())
    refusal_ =
        fmt::format("kernels run on the CPU by the system's C++ compiler, and there is none: {}", version.output);
  else if (error)
    refusal_ = fmt::format("compiled kernels are kept in {} ($TILESCOPE_CACHE), which cannot be made: {}", folder_,
                           error.message());
  identity_ = joined(compiler_) + version.output + joined(common_flags());
  std::vector<std::string> files;
  const std::string runtime = base::home_path(kRuntimeFolder);
  for (const auto& file : fs::directory_iterator(runtime, error)) files.push_back(file.path().string());
  if (files.empty() && !refusal_)
    refusal_ = fmt::format(
        "kernels are compiled together with the sources in {}, and there are none; is TILESCOPE_HOME "
        "right?",
        runtime);
  std::sort(files.begin(), files.end());
  for (const std::string& f : files) identity_ += file_bytes(f);
}

std::string Toolchain::name_of(HostBuild build, const std::string& text) const {
  return base::content_hash(
      fmt::format("{}{}{}{}", identity_, joined(kernel_flags(build)), joined(runtime_flags(build)), text));
}

// A finished object is moved to its name at once, so that no process sees half of one.
std::vector<Object> Toolchain::compile(HostBuild build, const std::vector<std::string>& flags,
                                       const std::vector<std::string>& units, int jobs) const {
  const TemporaryFolder scratch;
  std::vector<Object> out;
  std::vector<std::size_t> made;  // by command: its unit
  std::vector<std::vector<std::string>> commands;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::string name = name_of(build, units[i]);
    const std::string path = fmt::format("{}/{}.o", folder_, name);
    out.push_back({path, {}});
    if (find_kept(path)) continue;
    if (const std::string source = scratch.file(name + ".cc"); !write_file(source, units[i])) {
      out.back().error = fmt::format("{} cannot be written", source);
      continue;
    }
    std::vector<std::string> command = compiler_;
    append(command, common_flags());
    append(command, flags);
    append(command, {"-I", source_root(), "-c", scratch.file(name + ".cc"), "-o", unfinished(path)});
    commands.push_back(std::move(command));
    made.push_back(i);
  }
  const std::vector<Finished> finished = run_programs(commands, jobs);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    Object& object = out[made[i]];
    std::error_code error;
    if (finished[i].ok()) fs::rename(commands[i].back(), object.path, error);
    if (!finished[i].ok()) object.error = fmt::format("{} failed:\n{}", joined(commands[i]), finished[i].output);
    if (error) object.error = fmt::format("{} cannot be written: {}", object.path, error.message());
  }
  return out;
}

std::vector<Object> Toolchain::compile(HostBuild build, const std::vector<std::string>& units, int jobs) const {
  return compile(build, kernel_flags(build), units, jobs);
}

std::string Toolchain::link(HostBuild build, const std::vector<std::string>& objects, std::string& why) const {
  std::vector<std::string> all;
  {
    const FolderLock lock(folder_);
    const Object runtime = compile(build, runtime_flags(build), {runtime_unit(build)}, 1).front();
    why = first_lines(runtime.error);
    all.push_back(runtime.path);
  }
  if (!why.empty()) return {};
  append(all, objects);
  std::string path = fmt::format("{}/{}", folder_, name_of(build, joined(all)));
  if (find_kept(path)) return path;
  std::error_code error;
  const std::string moving = unfinished(path);
  std::vector<std::string> command = compiler_;
  append(command, {"-o", moving});
  append(command, all);
  append(command, link_flags(build));
  const Finished linked = run_program(command);
  if (linked.ok()) fs::rename(moving, path, error);
  if (!linked.ok()) why = fmt::format("{} failed: {}", joined(command), first_lines(linked.output));
  if (error) why = fmt::format("{} cannot be written: {}", path, error.message());
  const FolderLock lock(folder_);
  drop_least_recently_used(folder_, kMaxKeptBytes);
  return why.empty() ? path : "";
}

}  // namespace tilescope::cuda

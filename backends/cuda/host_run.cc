// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "arch/derive.h"
#include "backends/cuda/cache.h"
#include "backends/cuda/detail/units.h"
#include "backends/cuda/host/wire.h"
#include "backends/cuda/process.h"
#include "backends/cuda/toolchain.h"
#include "base/check.h"
#include "expr/element_bytes.h"

namespace tilescope::cuda {
namespace {

// Kernels of one translation unit: few enough that cores share the work, many enough that the prelude is read seldom.
constexpr std::size_t kModulesPerUnit = 8;

// Bytes that are not-a-number as floats, but for the fnuz pair (their least number), and -1 as integers: what no kernel
// wrote.
constexpr char kPoison = '\xff';

// A chip without device cache counts what its memory moves at once; one without scratchpad has nothing to count there.
host::Rules rules_of(const arch::ArchSpec& chip) {
  const arch::ScratchpadLevel* scratchpad = arch::scratchpad_of(chip);
  host::Rules out{.warp = std::max<std::int64_t>(1, chip.core.warp), .sector_bytes = 1, .banks = 1, .bank_bytes = 1};
  if (arch::dram_of(chip) != nullptr) out.sector_bytes = arch::device_transaction_of(chip).n;
  if (scratchpad != nullptr) {
    out.banks = scratchpad->banks;
    out.bank_bytes = scratchpad->bank_width.n;
  }
  return out;
}

host::Role role_of(lower::Role role) {
  switch (role) {
    case lower::Role::kInput:
      return host::Role::kInput;
    case lower::Role::kOutput:
      return host::Role::kOutput;
    case lower::Role::kBetween:
      return host::Role::kBetween;
  }
  base::check(false, "every role has a word for the runtime");
  return {};
}

lower::AccessCount count_of(const host::SideCount& c) {
  return {c.lane_accesses, c.requests, c.bytes, c.sectors, c.passes};
}

std::vector<lower::KernelCounters> counters_of(const host::Response& r) {
  std::vector<lower::KernelCounters> out;
  for (const auto& kernel : r.counters) {
    lower::KernelCounters& counters = out.emplace_back();
    for (const host::CopyCounts& c : kernel) counters.push_back({count_of(c.global), count_of(c.shared)});
  }
  return out;
}

struct Added {
  std::string key;
  std::vector<lower::Global> globals;
  std::size_t scalars = 0;
};

host::Request request_of(const Added& module, const HostRun& how, const host::Rules& rules) {
  base::check(how.globals.size() == module.globals.size(), "every global of the module has its place");
  base::check(how.scalars.size() == module.scalars, "every scalar has a value");
  host::Request out{module.key, how.seed, rules, how.scalars, {}};
  for (std::size_t i = 0; i < module.globals.size(); ++i) {
    const lower::Global& g = module.globals[i];
    const std::int64_t element = base::size_of(g.dtype).n;
    const bool input = g.role == lower::Role::kInput;
    const auto size = static_cast<std::size_t>(g.elements * element);
    std::string bytes = input ? expr::to_bytes(g.dtype, how.globals[i]) : std::string(size, kPoison);
    base::check(bytes.size() == size, "an input has all its elements");
    out.globals.push_back({g.name, role_of(g.role), element, std::move(bytes)});
  }
  return out;
}

using Unit = std::vector<const KeyedModule*>;
using Refused = std::map<std::string, std::string>;  // what the compiler said first, by key of the module

// The line that says what is wrong: those before it say where.
std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (line.find("error: ") != std::string::npos) return line;
  return output.substr(0, output.find('\n'));
}

// The objects of what compiles. Modules of a unit that does not are compiled one by one, so that each answers for
// itself.
std::vector<std::string> objects_of(const std::vector<Unit>& units, HostBuild build, const Toolchain& toolchain,
                                    int jobs, Refused& refused) {
  std::vector<std::string> texts, out;
  for (const Unit& u : units) texts.push_back(unit_of(u));
  const std::vector<Object> objects = toolchain.compile(build, texts, jobs);
  std::vector<Unit> alone;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (objects[i].ok())
      out.push_back(objects[i].path);
    else if (units[i].size() == 1)
      refused[units[i].front()->key] = first_error(objects[i].error);
    else
      for (const KeyedModule* m : units[i]) alone.push_back({m});
  }
  if (alone.empty()) return out;
  for (std::string& path : objects_of(alone, build, toolchain, jobs, refused)) out.push_back(std::move(path));
  return out;
}

}  // namespace

struct HostCompiler::State {
  host::Rules rules;
  Toolchain toolchain;
  std::vector<KeyedModule> modules;  // of different keys
  std::vector<Added> added;          // by id
  struct Program {
    std::size_t modules = 0;  // of State::modules: those that it holds, and those that were refused
    std::string path;
    Refused refused;
  };
  std::array<Program, 2> programs;  // by HostBuild
};

HostCompiler::HostCompiler(const arch::ArchSpec& chip, const std::string& cache_folder)
    : state_(new State{
          rules_of(chip), Toolchain(cache_folder.empty() ? default_cache_folder() : cache_folder), {}, {}, {}}) {}
HostCompiler::~HostCompiler() = default;
HostCompiler::HostCompiler(HostCompiler&&) noexcept = default;
HostCompiler& HostCompiler::operator=(HostCompiler&&) noexcept = default;

std::optional<std::string> HostCompiler::why_unsupported() const { return state_->toolchain.why_unsupported(); }

int HostCompiler::add(const lower::Module& module) {
  KeyedModule m = keyed(emit(module));
  state_->added.push_back({m.key, module.globals, module.scalars.size()});
  const bool known = std::any_of(state_->modules.begin(), state_->modules.end(),
                                 [&](const KeyedModule& other) { return other.key == m.key; });
  if (!known) state_->modules.push_back(std::move(m));
  return static_cast<int>(state_->added.size() - 1);
}

std::optional<std::string> HostCompiler::compile(HostBuild build, int jobs) {
  if (why_unsupported()) return why_unsupported();
  State::Program& program = state_->programs[static_cast<std::size_t>(build)];
  if (!program.path.empty() && program.modules == state_->modules.size()) return std::nullopt;
  std::vector<Unit> units;
  for (const KeyedModule& m : state_->modules) {
    if (program.refused.contains(m.key)) continue;
    if (units.empty() || units.back().size() == kModulesPerUnit) units.emplace_back();
    units.back().push_back(&m);
  }
  const std::vector<std::string> objects = objects_of(units, build, state_->toolchain, jobs, program.refused);
  std::string why;
  program.path = state_->toolchain.link(build, objects, why);
  program.modules = state_->modules.size();
  if (why.empty()) return std::nullopt;
  return why;
}

HostResult HostCompiler::run(int id, const HostRun& how) {
  const Added& module = state_->added.at(static_cast<std::size_t>(id));
  HostResult out;
  if (const auto why = compile(how.build, machine_cores())) {
    out.error = *why;
    return out;
  }
  const State::Program& program = state_->programs[static_cast<std::size_t>(how.build)];
  if (const auto refused = program.refused.find(module.key); refused != program.refused.end()) {
    out.error = "the C++ compiler refuses its kernels: " + refused->second;
    return out;
  }
  const TemporaryFolder folder;
  const std::string request = folder.file("request"), response = folder.file("response");
  if (!write_file(request, host::to_wire(request_of(module, how, state_->rules)))) {
    out.error = fmt::format("{} cannot be written", request);
    return out;
  }
  const Finished finished = run_program({program.path, request, response});
  host::Response answer;
  if (!finished.ok() || !host::from_wire(file_bytes(response), answer)) {
    out.error = fmt::format("seed {}: {}", how.seed, finished.output);
    return out;
  }
  out.counters = counters_of(answer);
  for (std::size_t i = 0; i < module.globals.size(); ++i)
    out.globals.push_back(expr::from_bytes(module.globals[i].dtype, answer.globals[i]));
  return out;
}

}  // namespace tilescope::cuda

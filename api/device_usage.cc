// SPDX-License-Identifier: Apache-2.0
#include "api/device_usage.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/code.h"
#include "api/common/parallel.h"
#include "api/compile.h"
#include "base/check.h"
#include "tile/program_json.h"

namespace tilescope::api {
namespace {

void add_to(CompiledProgram& compiled, const cuda::DeviceCompiler& compiler, const arch::ArchSpec& a) {
  base::Diagnostics diags;
  const auto program = tile::read_program(compiled.document, a, diags);
  base::check(program.has_value(), "a constructed program is read back");
  if (auto code = code_of(*program, a, compiler, diags, {}))
    compiled.usage = std::move(code->usage);
  else
    compiled.usage_error = fmt::format("{}", fmt::join(diags.sentences(), "; "));
}

template <class Figure>
std::int64_t most_of(const std::vector<KernelUse>& kernels, Figure figure) {
  std::int64_t most = 0;
  for (const KernelUse& k : kernels) most = std::max(most, k.*figure);
  return most;
}

}  // namespace

std::int64_t DeviceUsage::registers() const { return most_of(kernels, &KernelUse::registers); }
std::int64_t DeviceUsage::shared_bytes() const { return most_of(kernels, &KernelUse::shared_bytes); }
std::int64_t DeviceUsage::spill_bytes() const {
  std::int64_t sum = 0;
  for (const KernelUse& k : kernels) sum += k.spill_bytes;
  return sum;
}

std::string no_device_compiler(const arch::ArchSpec& a) {
  if (!a.target)
    return fmt::format("{} has no 'target', the instruction set that its kernels are compiled for", a.name);
  const cuda::DeviceCompiler compiler;
  return compiler.why_unsupported().empty() ? compiler.refusal_of(*a.target) : compiler.why_unsupported();
}

void add_device_usage(std::vector<CompiledOperator>& operators, const arch::ArchSpec& a, int jobs,
                      const Progress& progress) {
  std::vector<CompiledProgram*> programs;
  for (CompiledOperator& op : operators)
    for (CompiledProgram& p : op.programs) programs.push_back(&p);
  const cuda::DeviceCompiler compiler;
  std::mutex one_at_a_time;
  std::size_t done = 0;
  const auto one = [&](std::size_t i) {
    add_to(*programs[i], compiler, a);
    const std::lock_guard lock(one_at_a_time);
    progress(++done, programs.size());
  };
  parallel_for(programs.size(), jobs, [&] { return one; });
}

}  // namespace tilescope::api

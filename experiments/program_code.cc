#include "experiments/program_code.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "lower/lower.h"
#include "tile/staging.h"

namespace tilescope::experiments {
namespace {

std::int64_t staged_bytes(const tile::RProgram& program, const arch::ArchSpec& a) {
  std::int64_t most = 0;
  for (const tile::StageProgram& stage : program.stages) most = std::max(most, tile::staging_of(stage, a).bytes.n);
  return most;
}

// What ptxas says of a kernel, and the scratchpad that it is launched with.
KernelUse use_of(const cuda::EmittedKernel& kernel, const std::vector<cuda::KernelUsage>& reported) {
  const auto k = std::find_if(reported.begin(), reported.end(),
                              [&](const cuda::KernelUsage& usage) { return usage.name == kernel.name; });
  base::check(k != reported.end(), "the compiler's log speaks of every kernel");
  return {k->name, k->registers, k->spill_store_bytes + k->spill_load_bytes, kernel.shared_bytes + k->shared_bytes};
}

}  // namespace

std::string about(const tile::RProgram& p) {
  std::string out;
  for (const tile::StageProgram& stage : p.stages) out += stage.space->stage().text + "\n";
  return out;
}

std::optional<ProgramCode> code_of(const tile::RProgram& p, const arch::ArchSpec& a,
                                   const cuda::DeviceCompiler& compiler, std::vector<std::string>& why) {
  auto module = lower::lower(p, a, why);
  if (!module) return std::nullopt;
  cuda::Emitted emitted = cuda::emit(*module, about(p));
  cuda::DeviceCode code = compiler.compile(emitted.text, *a.target);
  if (!code.ok()) {
    why.push_back(code.error);
    return std::nullopt;
  }
  DeviceUsage usage{*a.target, {}, staged_bytes(p, a)};
  for (const cuda::EmittedKernel& k : emitted.kernels) usage.kernels.push_back(use_of(k, code.kernels));
  return ProgramCode{std::move(*module), std::move(emitted), std::move(code.cubin), std::move(usage)};
}

}  // namespace tilescope::experiments

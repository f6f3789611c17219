// SPDX-License-Identifier: Apache-2.0
#include "api/code.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "api/layout_words.h"
#include "arch/derive.h"
#include "base/check.h"
#include "expr/infer.h"
#include "targets/lowered.h"
#include "targets/target.h"
#include "tile/microkernel/rules.h"

namespace tilescope::api {
namespace {

// What ptxas says of a kernel, and the scratchpad that it is launched with.
KernelUse use_of(const cuda::EmittedKernel& kernel, const std::vector<cuda::KernelUsage>& reported) {
  const auto k = std::find_if(reported.begin(), reported.end(),
                              [&](const cuda::KernelUsage& usage) { return usage.name == kernel.name; });
  base::check(k != reported.end(), "the compiler's log speaks of every kernel");
  return {k->name, k->registers, k->spill_store_bytes + k->spill_load_bytes, kernel.shared_bytes + k->shared_bytes};
}

std::optional<ProgramCode> compiled(lower::Module module, const tile::RProgram& p, const arch::ArchSpec& a,
                                    const cuda::DeviceCompiler& compiler, base::Diagnostics& diags, base::Position at) {
  auto emitted = targets::target_of(a).emit({module}, about(p), cuda::Dialect::kCuda, diags, at);
  if (!emitted) return std::nullopt;
  cuda::DeviceCode code = compiler.compile(emitted->text, *a.target);
  if (!code.ok()) {
    diags.error(at, code.error);
    return std::nullopt;
  }
  DeviceUsage usage{*a.target, {}, targets::target_of(a).core_bytes(p, a).n};
  for (const cuda::EmittedKernel& k : emitted->kernels) usage.kernels.push_back(use_of(k, code.kernels));
  return ProgramCode{std::move(module), std::move(*emitted), std::move(code.cubin), std::move(usage)};
}

// "  m = 8192, n = 8192, bf16"
std::string sizes_of(const tile::TileSpace& space) {
  std::string out = "  ";
  for (const expr::Axis& a : space.stage().axes) out += fmt::format("{} = {}, ", a.name, a.size);
  return out + expr::dtypes_text(space.expression);
}

// "  block tile m x n x k 128x256x128, thread tile 64x256, 256 threads; wgmma.bf16 TMA num_stages 2"
std::string tiles_of(const tile::StageProgram& p) {
  const std::string layout = layout_of(p);
  return fmt::format("  block tile {} {}, {} tile {}, {} threads{}", axis_names(*p.space),
                     joined(p.block, p.space->axes.size()),
                     p.lanes() == 1 ? "thread" : fmt::format("{} lanes'", p.lanes()),
                     joined(p.thread, p.space->spatial), p.threads(), layout == "-" ? "" : "; " + layout);
}

// A compiler takes a limit for a target: it moves loads ahead until registers run out, and spills what it would not
// have held without the limit. So the kernels that spill get more, at last as many as it likes.
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::int64_t, 5> kMoreRegisters = {8, 16, 32, 64, kNoLimit};

lower::Module with_more_registers(const ProgramCode& held, std::int64_t more, const arch::ArchSpec& a) {
  lower::Module out = held.module;
  for (std::size_t k = 0; k < out.kernels.size(); ++k) {
    std::int64_t& registers = out.kernels[k].registers;
    if (held.usage.kernels[k].spill_bytes == 0 || registers == 0) continue;
    const std::int64_t most = arch::max_registers(a, out.kernels[k].threads);
    registers = more == kNoLimit || registers + more > most ? 0 : registers + more;
  }
  return out;
}

}  // namespace

std::string about(const tile::RProgram& p) {
  std::string out;
  const auto* stages = std::get_if<std::vector<tile::StageProgram>>(&p.nodes);
  for (std::size_t s = 0; s < p.stages(); ++s) {
    out += p.space(s).stage().text + "\n" + sizes_of(p.space(s)) + "\n";
    if (stages != nullptr && tile::has_own_tiles((*stages)[s])) out += tiles_of((*stages)[s]) + "\n";
  }
  return out;
}

std::optional<ProgramCode> code_of(const tile::RProgram& p, const arch::ArchSpec& a,
                                   const cuda::DeviceCompiler& compiler, base::Diagnostics& diags, base::Position at) {
  const auto lowered = targets::target_of(a).lower(p, a, diags, at);
  if (!lowered) return std::nullopt;
  std::optional<ProgramCode> best = compiled(lowered->module(), p, a, compiler, diags, at);
  if (!best) return std::nullopt;
  if (best->usage.spill_bytes() == 0) return best;
  const ProgramCode held = *best;
  const auto cost = [](const ProgramCode& c) { return std::pair(c.usage.spill_bytes(), c.usage.registers()); };
  for (const std::int64_t more : kMoreRegisters) {
    base::Diagnostics unused;
    auto other = compiled(with_more_registers(held, more, a), p, a, compiler, unused, at);
    if (other && cost(*other) < cost(*best)) best = std::move(other);
  }
  return best;
}

}  // namespace tilescope::api

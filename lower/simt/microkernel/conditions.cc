// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/microkernel/detail/conditions.h"

#include <algorithm>

#include <fmt/format.h>

#include "lower/lower.h"
#include "tile/microkernel/epilogue.h"
#include "tile/microkernel/rules.h"

namespace tilescope::lower {
namespace {

const arch::ComputeSpec* instruction_of(const std::string& name, const arch::ArchSpec& chip) {
  const auto found = std::find_if(chip.compute.begin(), chip.compute.end(),
                                  [&](const arch::ComputeSpec& c) { return c.name == name; });
  return found == chip.compute.end() ? nullptr : &*found;
}

// Of any matrix instruction.
void add_unit_refusals(const tile::MatrixUnit& u, const tile::StageProgram& p, const arch::ArchSpec& chip,
                       base::Diagnostics& diags, base::Position at) {
  const std::size_t before = diags.count();
  const auto refuse = [&](const std::string& reason) {
    diags.error(at, fmt::format("instruction {}: {}", u.instruction, reason));
  };
  const arch::ComputeSpec* c = instruction_of(u.instruction, chip);
  if (c == nullptr) return refuse(fmt::format("{} has none of that name", chip.name));
  if (c->m != u.m || c->n != u.n || c->k != u.k)
    refuse(
        fmt::format("{} multiplies {}x{}x{} by it, the program {}x{}x{}", chip.name, c->m, c->n, c->k, u.m, u.n, u.k));
  else if (!(tile::micro_kernel_of(*c, chip, u) == p.micro_kernel))
    refuse(fmt::format("on {} other threads, columns or memories take part in it", chip.name));
  else if (const std::string reason = lowering_refusal(*c, chip); !reason.empty())
    refuse(reason);
  if (const std::string reason = tile::dtypes_refusal(*c, *p.space); !reason.empty()) refuse("it " + reason);
  if (diags.count() != before) return;
  const std::string tiles =
      std::visit([&](const auto& kernel) { return tile::tiles_refusal(kernel, p); }, p.micro_kernel);
  if (!tiles.empty()) refuse(tiles);
}

// `holder`: a micro-kernel of that instruction, as the program has it.
template <class Holder>
void check_holder(const tile::MatrixUnit& unit, const Holder& holder, const tile::StageProgram& p,
                  const arch::ArchSpec& chip, base::Diagnostics& diags, base::Position at) {
  const auto any = [](const auto& kernel) { return tile::MicroKernel(kernel); };
  const arch::ComputeSpec* c = instruction_of(unit.instruction, chip);
  if (c == nullptr || !(tile::micro_kernel_of(*c, chip, unit) == std::visit(any, holder)))
    diags.error(at, fmt::format("{} holds results as {} does, which is another instruction on {}", p.space->output.name,
                                unit.instruction, chip.name));
}

tile::MicroKernel own(const tile::MatrixUnit& u, const arch::ArchSpec& chip) {
  return tile::micro_kernel_of(*instruction_of(u.instruction, chip), chip, u);
}

}  // namespace

void add_refusals(const tile::Fma& /*kernel*/, const tile::StageProgram& /*p*/, const arch::ArchSpec& /*chip*/,
                  base::Diagnostics& /*diags*/, base::Position /*at*/) {}
void add_refusals(const tile::Mma& kernel, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at) {
  add_unit_refusals(kernel.unit, p, chip, diags, at);
}
void add_refusals(const tile::Wgmma& kernel, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at) {
  add_unit_refusals(kernel.unit, p, chip, diags, at);
}
void add_refusals(const tile::Tcgen05& kernel, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at) {
  add_unit_refusals(kernel.unit, p, chip, diags, at);
}
// Lanes hold results as the holder's instruction says, whose other conditions are the holder's.
void add_refusals(const tile::Epilogue& kernel, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at) {
  if (std::string why = tile::tiles_refusal(kernel, p); !why.empty()) diags.error(at, std::move(why));
  if (const tile::MatrixUnit* unit = tile::holding_unit_of(kernel))
    check_holder(*unit, kernel.holder, p, chip, diags, at);
}
void add_refusals(const tile::RowReduction& kernel, const tile::StageProgram& p, const arch::ArchSpec& chip,
                  base::Diagnostics& diags, base::Position at) {
  check_holder(*tile::holding_unit_of(kernel), kernel.holder, p, chip, diags, at);
}

tile::MicroKernel on_chip(const tile::Fma& kernel, const arch::ArchSpec& /*chip*/) { return kernel; }
tile::MicroKernel on_chip(const tile::Mma& kernel, const arch::ArchSpec& chip) { return own(kernel.unit, chip); }
tile::MicroKernel on_chip(const tile::Wgmma& kernel, const arch::ArchSpec& chip) { return own(kernel.unit, chip); }
tile::MicroKernel on_chip(const tile::Tcgen05& kernel, const arch::ArchSpec& chip) { return own(kernel.unit, chip); }
tile::MicroKernel on_chip(const tile::Epilogue& kernel, const arch::ArchSpec& chip) {
  return tile::epilogue_of(std::visit([&](const auto& holder) { return on_chip(holder, chip); }, kernel.holder));
}
tile::MicroKernel on_chip(const tile::RowReduction& kernel, const arch::ArchSpec& chip) {
  const auto of_rows = [](const auto& holder) -> tile::MicroKernel {
    if constexpr (requires { tile::RowReduction{holder}; }) return tile::RowReduction{holder};
    return holder;
  };
  return std::visit(of_rows, own(*tile::holding_unit_of(kernel), chip));
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/wgmma.h"

#include <algorithm>
#include <cstdint>

#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {

using tile::StageProgram;

// A core matrix fills eight lanes' 16 bytes side by side. One instruction takes those of both factors.
CachedRead cached_read(const tile::Wgmma& kernel, const StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes /*max_access*/, const StepReads& /*reads*/) {
  const tile::MatrixUnit& u = kernel.unit;
  const std::int64_t together = tile::fragments_together(p);
  double instructions = p.reduction_tiles_per_step() / static_cast<double>(u.m * u.n * together);
  for (const tile::AxisMapping& m : p.mapping) instructions *= static_cast<double>(m.thread_extent());
  const std::int64_t along = operand == 0 ? u.m : u.n * together;
  const std::int64_t deep = u.k * p.space->operand(operand).element.n / tile::kCoreRowBytes;
  CachedRead out;
  out.by_instruction = true;
  out.access = AccessPattern(tile::kCoreRowBytes, tile::kCoreRows);
  out.access.add(tile::kCoreRows, tile::kCoreRowBytes);
  const std::int64_t matrices = along / tile::kCoreRows * deep, warps = u.lanes / warp;
  out.accesses = instructions * static_cast<double>(matrices) / static_cast<double>(warps);
  return out;
}

CorePlaces cached_places(const tile::Wgmma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return {tile::core_matrices(p, operand)};
}

InstructionWork instruction_work(const tile::Wgmma& kernel, const StageProgram& p) {
  const tile::MatrixUnit& u = kernel.unit;
  const auto iterations = static_cast<double>(u.m * u.n * tile::fragments_together(p) * u.k);
  return {iterations / static_cast<double>(u.lanes), static_cast<double>(u.k), static_cast<double>(u.m * u.n * u.k)};
}

std::optional<Arithmetic> arithmetic_of(const tile::Wgmma& kernel, const StageProgram& /*p*/, const Machine& m) {
  return arithmetic_of(m, kernel.unit.instruction);
}

// Products of a step are in flight together, and all of what lanes hold of the first operand with them.
OperandRegisters operand_registers(const tile::Wgmma& kernel, const StageProgram& p, const Geometry& m) {
  std::int64_t held = promotion_work(p).registers;
  if (!p.operands[0].cached) held += fragment_registers(kernel, p, 0) * (p.block[kernel.unit.depth] / kernel.unit.k);
  return {held, held + m.allowances.mma_operands.value_or(0)};
}

std::int64_t fragment_registers(const tile::Wgmma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return registers_for(p, fragment_of(p, operand), p.space->inputs[operand].element);
}

std::optional<AccessPattern> result_store(const tile::Wgmma& kernel, const StageProgram& p, std::int64_t warp) {
  return store_of_lanes(kernel.unit, p, warp);
}

AccessPattern result_places(const tile::Wgmma& kernel, const StageProgram& p, std::int64_t vector, std::int64_t warp) {
  return write_of_lanes(kernel.unit, p, vector, warp);
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/tcgen05.h"

#include <cstdint>

#include "model/simt/microkernel/detail/costs.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::model {

using tile::StageProgram;

CachedRead cached_read(const tile::Tcgen05& kernel, const StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes /*max_access*/, const StepReads& /*reads*/) {
  const tile::MatrixUnit& u = kernel.unit;
  const std::int64_t along = operand == 0 ? u.m : tile::columns_together(p);
  const std::int64_t deep = u.k * p.space->operand(operand).element.n / tile::kCoreRowBytes;
  CachedRead out;
  out.by_instruction = true;
  out.access = AccessPattern(tile::kCoreRowBytes, tile::kCoreRows);
  out.access.add(tile::kCoreRows, tile::kCoreRowBytes);
  const std::int64_t matrices = tile::instructions_of_step(p) * (along / tile::kCoreRows) * deep;
  out.accesses = static_cast<double>(matrices) * static_cast<double>(warp) / static_cast<double>(p.threads());
  return out;
}

CorePlaces cached_places(const tile::Tcgen05& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return {tile::core_matrices(p, operand)};
}

// Of the block's threads each has an equal share of an instruction.
InstructionWork instruction_work(const tile::Tcgen05& kernel, const StageProgram& p) {
  const tile::MatrixUnit& u = kernel.unit;
  return {static_cast<double>(u.m * tile::columns_together(p) * u.k) / static_cast<double>(u.lanes),
          static_cast<double>(u.k), static_cast<double>(u.m * u.n * u.k)};
}

std::optional<Arithmetic> arithmetic_of(const tile::Tcgen05& kernel, const StageProgram& /*p*/, const Machine& m) {
  return arithmetic_of(m, kernel.unit.instruction);
}

// Threads hold no operands, and sums no sooner than they are whole.
OperandRegisters operand_registers(const tile::Tcgen05& /*kernel*/, const StageProgram& /*p*/, const Geometry& m) {
  return {0, m.allowances.mma_operands.value_or(0)};
}

std::int64_t fragment_registers(const tile::Tcgen05& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return registers_for(p, fragment_of(p, operand), p.space->inputs[operand].element);
}

std::optional<AccessPattern> result_store(const tile::Tcgen05& kernel, const StageProgram& p, std::int64_t warp) {
  return store_of_lanes(kernel.unit, p, warp);
}

AccessPattern result_places(const tile::Tcgen05& kernel, const StageProgram& p, std::int64_t vector,
                            std::int64_t warp) {
  return write_of_lanes(kernel.unit, p, vector, warp);
}

TensorReads tensor_reads(const tile::Tcgen05& kernel, const StageProgram& p) {
  const auto results = static_cast<double>(tile::sum_columns(p) * kernel.unit.m);
  const double of_thread = results / static_cast<double>(p.threads());
  return {results * tile::kRegisterBytes, of_thread / static_cast<double>(tile::columns_read_together(p)),
          tile::sum_columns(p)};
}

}  // namespace tilescope::model

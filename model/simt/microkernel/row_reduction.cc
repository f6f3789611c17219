// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/row_reduction.h"

#include "base/integer.h"
#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {

using tile::StageProgram;

CachedRead cached_read(const tile::RowReduction& /*kernel*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                       std::int64_t /*warp*/, base::Bytes /*max_access*/, const StepReads& /*reads*/) {
  return {};
}

RowPlaces cached_places(const tile::RowReduction& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return row_places(p, operand);
}

// Lanes reduce as other threads do that share a reduction.
InstructionWork instruction_work(const tile::RowReduction& /*kernel*/, const StageProgram& p) {
  return instruction_work(tile::Fma{}, p);
}

std::optional<Arithmetic> arithmetic_of(const tile::RowReduction& /*kernel*/, const StageProgram& p, const Machine& m) {
  return arithmetic_of(tile::Fma{}, p, m);
}

// What is reduced stays where it is.
OperandRegisters operand_registers(const tile::RowReduction& kernel, const StageProgram& p, const Geometry& /*m*/) {
  return {fragment_registers(kernel, p, 0)};
}

std::int64_t fragment_registers(const tile::RowReduction& kernel, const StageProgram& p, std::size_t operand) {
  const std::int64_t lanes = tile::holding_unit_of(kernel)->lanes;
  return base::ceil_div(fragment_of(p, operand) / lanes * p.space->inputs[operand].element.n, arch::kRegisterBytes);
}

// Results stay in registers.
std::optional<AccessPattern> result_store(const tile::RowReduction& /*kernel*/, const StageProgram& /*p*/,
                                          std::int64_t /*warp*/) {
  return std::nullopt;
}

AccessPattern result_places(const tile::RowReduction& /*kernel*/, const StageProgram& p, std::int64_t vector,
                            std::int64_t warp) {
  return result_places(tile::Fma{}, p, vector, warp);
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/epilogue.h"

#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {

using tile::StageProgram;

CachedRead cached_read(const tile::Epilogue& /*kernel*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                       std::int64_t /*warp*/, base::Bytes /*max_access*/, const StepReads& /*reads*/) {
  return {};
}

RowPlaces cached_places(const tile::Epilogue& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return row_places(p, operand);
}

// Threads compute the body, whatever multiplied before.
InstructionWork instruction_work(const tile::Epilogue& /*kernel*/, const StageProgram& p) {
  return instruction_work(tile::Fma{}, p);
}

std::optional<Arithmetic> arithmetic_of(const tile::Epilogue& /*kernel*/, const StageProgram& p, const Machine& m) {
  return arithmetic_of(tile::Fma{}, p, m);
}

// Each input once for all results, those of the holder among them.
OperandRegisters operand_registers(const tile::Epilogue& kernel, const StageProgram& p, const Geometry& /*m*/) {
  OperandRegisters out;
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) out.held += fragment_registers(kernel, p, i);
  return out;
}

std::int64_t fragment_registers(const tile::Epilogue& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return registers_for(p, fragment_of(p, operand), p.space->inputs[operand].element);
}

std::optional<AccessPattern> result_store(const tile::Epilogue& kernel, const StageProgram& p, std::int64_t warp) {
  return std::visit([&](const auto& holder) { return result_store(holder, p, warp); }, kernel.holder);
}

AccessPattern result_places(const tile::Epilogue& kernel, const StageProgram& p, std::int64_t vector,
                            std::int64_t warp) {
  return std::visit([&](const auto& holder) { return result_places(holder, p, vector, warp); }, kernel.holder);
}

}  // namespace tilescope::model

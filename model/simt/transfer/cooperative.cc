// SPDX-License-Identifier: Apache-2.0
// What entries share in which every thread takes part.

#include "base/integer.h"
#include "model/simt/transfer/detail/costs.h"

namespace tilescope::model {

using tile::StageProgram;

namespace {

// Of an address of memory, 64 bits, and of a place in the scratchpad, 32.
constexpr std::int64_t kRegistersOfAddress = 8 / arch::kRegisterBytes, kRegistersOfPlace = 4 / arch::kRegisterBytes;

}  // namespace

std::int64_t pieces_of(const StageProgram& p, std::size_t operand) {
  return base::ceil_div(tile::data_tile_elements(p.space->inputs[operand], p.block),
                        p.threads() * p.operands[operand].vector);
}

bool pieces_lie_evenly(const StageProgram& p, std::size_t operand) {
  const tile::TileShape shape = tile::data_tile(p.space->inputs[operand], p.block);
  const tile::OperandPlan& plan = p.operands[operand];
  if (shape.empty()) return true;
  if (!plan.blocked) return p.threads() * plan.vector % shape.back() == 0;
  const std::int64_t chunk = pieces_of(p, operand) * plan.vector;
  return shape.back() % chunk == 0 || chunk % shape.back() == 0;
}

std::int64_t address_registers(const StageProgram& p, std::size_t operand, const Machine& m) {
  return pieces_lie_evenly(p, operand) ? 0 : kRegistersOfAddress * pieces_together(p, operand, m);
}

std::int64_t pieces_together(const StageProgram& p, std::size_t operand, const Machine& m) {
  const std::int64_t pieces = pieces_of(p, operand);
  return pieces <= p.unroll ? pieces : std::min(pieces, static_cast<std::int64_t>(m.compiler_unroll));
}

std::int64_t bookkeeping_of(const StageProgram& p, std::size_t operand, const Machine& m) {
  if (p.steps() == 1) return 0;
  const std::int64_t apart = pieces_lie_evenly(p, operand) ? 0 : pieces_of(p, operand);
  return m.allowances.staged_operand.value_or(0) + apart * (kRegistersOfAddress + kRegistersOfPlace);
}

}  // namespace tilescope::model

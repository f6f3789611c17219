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

std::int64_t indices_of(const StageProgram& p, std::size_t operand) {
  return p.space->inputs[operand].gathered ? pieces_of(p, operand) : 0;
}

bool pieces_lie_evenly(const StageProgram& p, std::size_t operand) {
  const tile::TileShape shape = tile::data_tile(p.space->inputs[operand], p.block);
  const tile::OperandPlan& plan = p.operands[operand];
  if (shape.empty()) return true;
  if (!plan.blocked) {
    const std::int64_t together = p.threads() * plan.vector;
    const bool parts_of_rows = p.registers == 0 && shape.back() % together == 0;
    return together % shape.back() == 0 || parts_of_rows;
  }
  const std::int64_t chunk = pieces_of(p, operand) * plan.vector;
  return shape.back() % chunk == 0 || chunk % shape.back() == 0;
}

std::int64_t address_registers(const StageProgram& p, std::size_t operand) {
  if (p.steps() == 1 || pieces_lie_evenly(p, operand)) return 0;
  return pieces_of(p, operand) * (kRegistersOfAddress + kRegistersOfPlace);
}

std::int64_t pieces_together(const StageProgram& p, std::size_t operand, const Geometry& m) {
  const std::int64_t pieces = pieces_of(p, operand);
  const std::int64_t elements = tile::data_tile_elements(p.space->inputs[operand], p.block);
  const bool all_inside = pieces * p.threads() * p.operands[operand].vector == elements;
  return all_inside ? pieces : std::min(pieces, m.predicates.value_or(pieces));
}

std::int64_t bookkeeping_of(const StageProgram& p, std::size_t operand, const Geometry& m) {
  return p.steps() == 1 ? 0 : m.allowances.staged_operand.value_or(0) + address_registers(p, operand);
}

}  // namespace tilescope::model

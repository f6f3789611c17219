// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/integer.h"
#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"
#include "tile/fit.h"

namespace tilescope::model {

using tile::StageProgram;

CopyWork copy_work(const tile::PerThread& /*entry*/, const StageProgram& p, std::size_t operand,
                   std::int64_t /*warp*/) {
  return {static_cast<double>(pieces_of(p, operand)), 2, false};
}

namespace {

// So many pieces stand in registers between their load and their store.
std::int64_t in_flight(const StageProgram& p, std::size_t operand, std::int64_t pieces) {
  const std::int64_t bytes = p.operands[operand].vector * p.space->inputs[operand].element.n;
  return base::ceil_div(pieces * bytes, tile::kRegisterBytes);
}

}  // namespace

AccessPattern cached_write(const tile::PerThread& /*entry*/, const StageProgram& p, std::size_t operand,
                           std::int64_t warp) {
  return scratchpad_write(p, operand, warp);
}

CopyRegisters own_registers(const tile::PerThread& /*entry*/, const StageProgram& p, std::size_t operand,
                            const Geometry& m) {
  // A piece of less than a register has one of its own.
  return {std::max(in_flight(p, operand, pieces_of(p, operand)), pieces_of(p, operand)) + indices_of(p, operand),
          bookkeeping_of(p, operand, m)};
}

CopyRegisters others_registers(const tile::PerThread& /*entry*/, const StageProgram& p, std::size_t operand,
                               const Geometry& m) {
  return {in_flight(p, operand, pieces_together(p, operand, m)), address_registers(p, operand)};
}

double copy_rounds(const tile::PerThread& /*entry*/, const StageProgram& p, std::size_t operand, const Geometry& m) {
  const std::int64_t pieces = pieces_of(p, operand), together = pieces_together(p, operand, m);
  return together < pieces ? static_cast<double>(pieces) / static_cast<double>(together) : 0;
}

}  // namespace tilescope::model

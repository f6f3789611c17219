// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"

namespace tilescope::model {

using tile::StageProgram;

CopyWork copy_work(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand, std::int64_t /*warp*/) {
  return {static_cast<double>(pieces_of(p, operand))};
}

WarpAccess cached_write(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand, std::int64_t warp) {
  return scratchpad_write(p, operand, warp);
}

CopyRegisters own_registers(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand,
                            const Machine& m) {
  const std::int64_t pieces = pieces_of(p, operand);
  const arch::RegisterAllowances& a = m.allowances;
  const std::int64_t bookkeeping = bookkeeping_of(p, m);
  if (pieces_lie_evenly(p, operand))
    return {a.even_piece.value_or(0) * std::min(pieces, a.max_even_pieces.value_or(pieces)), bookkeeping};
  return {pieces * (p.space->inputs[operand].im2col ? a.im2col_piece : a.uneven_piece).value_or(0), bookkeeping};
}

CopyRegisters others_registers(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand,
                               const Machine& m) {
  return {0, address_registers(p, operand, m)};
}

}  // namespace tilescope::model

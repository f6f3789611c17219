// SPDX-License-Identifier: Apache-2.0

#include "model/simt/transfer/detail/costs.h"
#include "model/simt/transfer/detail/pieces.h"

namespace tilescope::model {

using tile::StageProgram;

CopyWork copy_work(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand, std::int64_t /*warp*/) {
  return {static_cast<double>(pieces_of(p, operand))};
}

AccessPattern cached_write(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand,
                           std::int64_t warp) {
  return scratchpad_write(p, operand, warp);
}

CopyRegisters own_registers(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand,
                            const Geometry& m) {
  return {indices_of(p, operand), bookkeeping_of(p, operand, m)};
}

CopyRegisters others_registers(const tile::CpAsync& /*entry*/, const StageProgram& p, std::size_t operand,
                               const Geometry& /*m*/) {
  return {0, address_registers(p, operand)};
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#include "tile/transfer/tma.h"

#include "base/integer.h"
#include "model/simt/transfer/detail/costs.h"
#include "tile/transfer/multicast.h"

namespace tilescope::model {

using tile::StageProgram;

// The producer warp starts all TMA loads of a step; each computing warp counts its share of them.
CopyWork copy_work(const tile::Tma& /*entry*/, const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const auto cached = static_cast<double>(tile::data_tile_elements(p.space->inputs[operand], p.block));
  const auto warps = static_cast<double>(base::ceil_div(p.threads(), warp));
  // Every row of a box is a line. Blocks that share a tile load a part of each box.
  return {.requests = cached / static_cast<double>(tile::box_elements(p, operand)) / warps,
          .lines = cached / static_cast<double>(p.operands[operand].box * tile::sharing_blocks(p, operand))};
}

// What arrives of a box fills the banks as a warp's neighbouring words would.
AccessPattern cached_write(const tile::Tma& /*entry*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                           std::int64_t warp) {
  AccessPattern access(arch::kRegisterBytes, warp);
  access.add(warp, arch::kRegisterBytes);
  return access;
}

// Another warp asks for it.
CopyRegisters own_registers(const tile::Tma& /*entry*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                            const Geometry& /*m*/) {
  return {};
}

CopyRegisters others_registers(const tile::Tma& /*entry*/, const StageProgram& /*p*/, std::size_t /*operand*/,
                               const Geometry& /*m*/) {
  return {};
}

}  // namespace tilescope::model

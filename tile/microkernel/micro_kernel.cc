// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/micro_kernel.h"

namespace tilescope::tile {

MicroKernel micro_kernel_of(const arch::ComputeSpec& c, const arch::ArchSpec& chip, const MatrixUnit& along) {
  MatrixUnit u = along;
  u.instruction = c.name;
  u.m = c.m;
  u.n = c.n;
  u.k = c.k;
  u.lanes = c.threads.value_or(chip.core.warp);
  u.max_columns = c.max_n.value_or(c.n);
  u.spec = std::make_shared<const arch::ComputeSpec>(c);
  if (c.accumulators) return Tcgen05{std::move(u)};
  if (c.operands) return Wgmma{std::move(u)};
  return Mma{std::move(u)};
}

}  // namespace tilescope::tile

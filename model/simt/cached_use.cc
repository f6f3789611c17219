// SPDX-License-Identifier: Apache-2.0
#include "model/simt/cached_use.h"

#include <algorithm>

#include "base/integer.h"
#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/transfer/detail/costs.h"

namespace tilescope::model {

StepReads step_reads(const tile::StageProgram& p, std::size_t operand) {
  return of_micro_kernel(p, [&](const auto& kernel) { return step_reads(kernel, p, operand); });
}

CachedUse cached_use(const tile::StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access,
                     const StepReads& reads_of_step) {
  const tile::Operand& o = p.space->operand(operand);
  const auto warps = static_cast<double>(base::ceil_div(p.threads(), warp));
  // Pieces are written alike whether they pass through registers or not.
  const AccessPattern write = std::visit([&](const auto& entry) { return cached_write(entry, p, operand, warp); },
                                         tile::transfer_of(p, operand, arch::CoreSpec{}));
  const std::int64_t written_bytes = write.bytes() * write.lanes();
  const double pieces =
      static_cast<double>(tile::data_tile_elements(o, p.block) * o.element.n) / static_cast<double>(written_bytes);
  const CachedRead read = of_micro_kernel(
      p, [&](const auto& kernel) { return cached_read(kernel, p, operand, warp, max_access, reads_of_step); });
  const double reads = read.accesses * warps;
  const double instructions = read.by_instruction ? 0 : reads * read.left + read.converted * warps;
  return {write, read.access, std::max(1.0, pieces), reads, instructions};
}

}  // namespace tilescope::model

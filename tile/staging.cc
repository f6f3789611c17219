// SPDX-License-Identifier: Apache-2.0
#include "tile/staging.h"

#include <algorithm>

#include "base/integer.h"
#include "tile/shared_reduction.h"
#include "tile/transfer/results.h"
#include "tile/transfer/tma.h"

namespace tilescope::tile {
StagingLayout staging_of(const StageProgram& p, const arch::CoreSpec& core) {
  // No access of one thread straddles the beginning of a tile.
  const std::int64_t access = std::max(kStagingAlignment, core.max_access.value_or(base::Bytes{0}).n);
  const TmaStaging tma = tma_staging(p, core);
  const std::int64_t alignment = base::round_up(tma.alignment.n, access);
  StagingLayout out;
  out.begins.assign(p.space->inputs.size(), {0});
  for (std::size_t i = 0; i < p.space->inputs.size(); ++i) {
    if (!p.operands[i].cached) continue;
    const Operand& o = p.space->inputs[i];
    out.begins[i] = {base::round_up(out.bytes.n, alignment)};
    out.bytes = out.begins[i] + o.element * (data_tile_elements(o, p.block, p.operands[i].padding) * p.stages_held(i));
  }
  if (p.is_persistent() && p.operands.back().cached) {
    out.results = {base::round_up(out.bytes.n, alignment)};
    out.bytes = out.results + result_tile_bytes(p) * p.tile_loop.crews;
  }
  out.bytes = std::max({out.bytes, result_tile_bytes(p), shared_parts_bytes(p, core)});
  out.mbarriers = {base::round_up(out.bytes.n, tma.mbarrier.n)};
  out.bytes = out.mbarriers + tma.mbarrier * tma.mbarriers;
  return out;
}

}  // namespace tilescope::tile

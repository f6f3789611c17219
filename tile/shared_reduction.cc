// SPDX-License-Identifier: Apache-2.0
#include "tile/shared_reduction.h"

#include <numeric>

#include <fmt/format.h>

#include "arch/derive.h"
#include "tile/microkernel/rules.h"

namespace tilescope::tile {

ReductionSharing sharing_of(const StageProgram& p, const arch::CoreSpec& core) {
  const std::int64_t sharers = p.sharers();
  std::int64_t lanes = 1;
  if (core.shuffle)
    while (sharers % (2 * lanes) == 0 && core.warp % (2 * lanes) == 0) lanes *= 2;
  return {lanes, sharers / lanes};
}

base::Bytes shared_parts_bytes(const StageProgram& p, const arch::CoreSpec& core) {
  const std::int64_t groups = sharing_of(p, core).groups;
  if (groups == 1) return {0};
  return base::size_of(p.space->expression.accumulate) * (data_tile_elements(p.space->output, p.block) * groups);
}

std::string sharing_refusal(const StageProgram& p, const arch::ArchSpec& a) {
  if (p.sharers() == 1) return {};
  for (std::size_t axis = p.space->spatial; axis < p.space->axes.size(); ++axis) {
    const std::int64_t together = p.reduction_threads[axis] * p.thread[axis];
    if (p.reduction_threads[axis] > 1 && p.block[axis] % together != 0)
      return fmt::format("{} threads share {} by {} iterations, which does not cut a step of {}",
                         p.reduction_threads[axis], p.space->axes[axis].name, p.thread[axis], p.block[axis]);
  }
  if (!adds_by_threads(p)) return "threads share no reduction that a matrix instruction sums";
  if (p.by_tma()) return "threads share no reduction whose tiles TMA loads";
  if (sharing_of(p, a.core).groups > 1 && arch::scratchpad_of(a) == nullptr)
    return fmt::format("{} has no scratchpad for their results to meet in", a.name);
  return {};
}

}  // namespace tilescope::tile

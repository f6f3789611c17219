// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/step_jumps.h"

#include <algorithm>

namespace tilescope::sim {

void add_progress(const ResidentWarps& warps, const WarpCode& code, int core, std::vector<StepProgress>& out) {
  std::vector<std::int64_t> in_partition(static_cast<std::size_t>(warps.partitions()), 0);
  for (const Warp& w : warps.warps())
    if (w.state != Warp::State::kEnded) ++in_partition[static_cast<std::size_t>(w.partition)];
  for (std::size_t place = 0; place < warps.blocks().size(); ++place) {
    const ResidentBlock& b = warps.blocks()[place];
    StepProgress p{.resident = b.resident,
                   .core = core,
                   .warps = warps.warps_per_block(),
                   .begun = b.steps_begun,
                   .inside = b.resident,
                   .stamp = b.stamp,
                   .cluster = b.resident ? b.cluster : -1};
    const std::span<const Warp> of_block = warps.warps_of(place);
    for (const Warp& w : of_block) {
      p.inside = p.inside && w.in_steps;
      p.crowd = std::max(p.crowd, in_partition[static_cast<std::size_t>(w.partition)]);
      if (!w.in_steps) continue;
      const std::int64_t left = code.loops().remaining(code.loops()[code.step_loop()], w.uniforms);
      p.min_remaining = &w == &of_block.front() ? left : std::min(p.min_remaining, left);
    }
    out.push_back(p);
  }
}

std::span<const StepJump> jump_steps(ResidentWarps& warps, const WarpCode& code, std::span<const StepJump> jumps,
                                     std::span<const std::size_t> started) {
  for (const std::size_t place : started) warps.deal_partitions(place);
  const CodeLoop& steps = code.loops()[code.step_loop()];
  for (std::size_t place = 0; place < warps.blocks().size(); ++place) {
    const StepJump& j = jumps.front();
    jumps = jumps.subspan(1);
    ResidentBlock& b = warps.blocks()[place];
    if (!b.resident) continue;
    if (j.successor >= 0) b.stamp = j.stamp;
    const std::span<Warp> of_block = warps.warps_of(place);
    // All warps of a block by as many steps, for they meet at the barriers and mbarriers of each.
    std::int64_t n = j.steps;
    for (const Warp& w : of_block) n = std::max(n, -CodeLoops::done(steps, w.uniforms));
    for (Warp& w : of_block) {
      if (j.successor >= 0) code.become(j.successor, w.uniforms);
      if (j.steps != 0) code.loops().jump(steps, w.uniforms, n);
    }
    if (j.steps == 0) continue;
    const int mbarriers = static_cast<int>(code.indices().kernel().mbarriers.size());
    for (int s = 0; s < mbarriers; ++s) b.mbarriers.leave_out(s, n * code.phases_per_step(s));
  }
  return jumps;
}

}  // namespace tilescope::sim

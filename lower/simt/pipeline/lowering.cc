// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/pipeline/detail/lowering.h"

#include <utility>

namespace tilescope::lower {

Body pipelined(const BlockParts& parts) {
  if (parts.stage.p.by_tma()) return warp_specialized(parts);
  return parts.stage.stages_held() > 1 ? multi_stage(parts) : serial(parts);
}

Body at_barrier(const std::string& note) {
  Body body;
  body.push_back(noted({Barrier{}, {}}, note));
  return body;
}

StepLoop::StepLoop(IndexMaker& maker, std::int64_t steps) {
  if (steps == 1) return;
  index = maker.loop("step", steps);
  step = maker.value(index);
}

Body StepLoop::around(Body of_step) const {
  if (index < 0) return of_step;
  Body out;
  out.push_back({Loop{index, 1, std::move(of_step)}, {}});
  return out;
}

}  // namespace tilescope::lower

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

// Of offset + Σ c begin + p s >= 0 the last s is floor(rest / -p), the first one ceil(-rest / p) = -floor(rest / p).
StepLoop::StepLoop(IndexMaker& maker, std::int64_t steps, const tile::LiveSteps& live,
                   const std::vector<Affine>& begins) {
  if (steps == 1) return;
  index = maker.loop("step", steps);
  step = maker.value(index);
  const auto rest = [&](const tile::StepLimit& l) {
    Affine sum = constant(l.offset);
    for (const expr::Term& t : l.terms) sum = sum + begins[static_cast<std::size_t>(t.axis)] * t.coefficient;
    return sum;
  };
  if (live.first) first = maker.quotient(rest(*live.first), live.first->per_step, 0, "hidden") * -live.faster;
  if (live.last)
    last = maker.quotient(rest(*live.last), -live.last->per_step, 0, "last_step") * live.faster +
           constant(live.faster - 1);
  if (first && maker.range(*first).high <= 0) first.reset();
  if (last && maker.range(*last).low >= steps - 1) last.reset();
}

StepLoop step_loop(Stage& s) { return {s.maker(), s.p.steps(), s.place.live, s.place.kernel_begins}; }

std::vector<Guard> StepLoop::not_after_last(IndexMaker& maker, const Affine& at) const {
  if (!last) return {};
  const Affine left = *last - at;
  return {{left, maker.range(left).high + 1}};
}

Body StepLoop::around(Body of_step) const {
  if (index < 0) return of_step;
  Body out;
  out.push_back({Loop{index, 1, std::move(of_step), first, last}, {}});
  return out;
}

}  // namespace tilescope::lower

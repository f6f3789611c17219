// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/step_loop.h"

#include <algorithm>
#include <optional>

#include "sim/gpu/detail/warp_code.h"

namespace tilescope::sim {
namespace {

using Kind = WarpOp::Kind;

bool in_all_roles(std::span<const WarpOp> ops, int loop, std::size_t roles) {
  return roles == 0 || std::count_if(ops.begin(), ops.end(), [loop](const WarpOp& o) {
                         return o.kind == Kind::kLoop && o.number == loop;
                       }) == static_cast<std::ptrdiff_t>(roles);
}

// What an iteration adds to a phase, and the rest of its terms.
struct PhaseOfStep {
  std::int64_t per_step = 0;
  std::vector<lower::AffineTerm> rest;

  // Whether an iteration of one is an iteration of the other: not where roles take tiles in turn, whose iterations of
  // one loop are steps of different tiles.
  bool together_with(const PhaseOfStep& o) const { return per_step == o.per_step && (per_step == 0 || rest == o.rest); }
};

std::optional<std::vector<std::int64_t>> phases_per_step(const CodeLoop& steps, std::span<const MbarrierPhase> phases,
                                                         const KernelIndices& indices) {
  std::vector<std::optional<PhaseOfStep>> known(indices.kernel().mbarriers.size());
  const int index = steps.index();
  for (const MbarrierPhase& phase : phases) {
    PhaseOfStep here;
    for (const lower::AffineTerm& t : phase.phase.uniform) {
      if (t.index != index && indices.depends(t.index, index)) return std::nullopt;
      if (t.index == index)
        here.per_step = t.coefficient * steps.stride;
      else
        here.rest.push_back(t);
    }
    std::optional<PhaseOfStep>& of_mbarrier = known[static_cast<std::size_t>(phase.mbarrier)];
    if (of_mbarrier && !of_mbarrier->together_with(here)) return std::nullopt;
    of_mbarrier = std::move(here);
  }
  std::vector<std::int64_t> out;
  for (const auto& phase : known) out.push_back(phase ? phase->per_step : 0);
  return out;
}

}  // namespace

StepLoop step_loop_of(std::span<const WarpOp> ops, std::span<const CodeLoop> loops, std::size_t roles,
                      std::span<const MbarrierPhase> phases, const KernelIndices& indices) {
  StepLoop found;
  std::int64_t most = 1;
  for (std::size_t n = 0; n < ops.size(); ++n) {
    const WarpOp& op = ops[n];
    if (op.kind != Kind::kLoop) continue;
    const CodeLoop& l = loops[static_cast<std::size_t>(op.number)];
    const std::int64_t iterations = l.iterations();
    if (l.from >= 0 || iterations <= most) continue;
    const std::span<const WarpOp> inside = ops.subspan(n, static_cast<std::size_t>(op.jump) - n);
    const bool steps = std::any_of(inside.begin(), inside.end(), [](const WarpOp& o) {
      return o.kind == Kind::kBarrier || o.kind == Kind::kSegment || o.kind == Kind::kWgmma ||
             o.kind == Kind::kTensorProduct || o.kind == Kind::kMbarrierWait;
    });
    if (!steps || !in_all_roles(ops, op.number, roles)) continue;
    auto advances = phases_per_step(l, phases, indices);
    if (!advances) continue;
    most = iterations;
    found = {op.number, std::move(*advances)};
  }
  return found;
}

}  // namespace tilescope::sim

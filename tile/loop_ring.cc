// SPDX-License-Identifier: Apache-2.0
#include "tile/loop_ring.h"

#include <algorithm>

#include <fmt/format.h>

#include "tile/microkernel/rules.h"

namespace tilescope::tile {
namespace {

bool caches(const StageProgram& p) {
  return std::any_of(p.operands.begin(), p.operands.begin() + static_cast<std::ptrdiff_t>(p.space->inputs.size()),
                     [](const OperandPlan& plan) { return plan.cached; });
}

bool copies_once(const StageProgram& p) {
  return std::any_of(p.operands.begin(), p.operands.end(), [](const OperandPlan& plan) { return plan.once; });
}

}  // namespace

std::int64_t loop_stages_of(const RProgram& p, const GroupLayout& group) {
  std::int64_t stages = 1;
  for (std::size_t i = 0; group.loop && i < group.stages.size(); ++i)
    if (group.loop->has(i)) stages = std::max(stages, p.simt()[group.stages[i].stage].loop_stages);
  return stages;
}

std::string loop_ring_refusal(const RProgram& p, const GroupLayout& group, std::size_t place) {
  const StageProgram& stage = p.simt()[group.stages[place].stage];
  const std::string& name = stage.space->output.name;
  const std::int64_t stages = loop_stages_of(p, group);
  if (std::string why = tma_ring_refusal(p, group, place); !why.empty()) return why;
  const bool in = group.loop && group.loop->has(place);
  if (!in)
    return stage.loop_stages == 1 && !copies_once(stage)
               ? std::string()
               : fmt::format("loop_stages: the stage of {} is in no loop of its kernel", name);
  if (stages == 1)
    return copies_once(stage) ? "a tile is copied once where tiles of several steps are held (loop_stages)" : "";
  if (group.stages[place].keeps_output && !group.loop->leaves_behind(place))
    return fmt::format("loop_stages: {} passes through the scratchpad between stages of the loop", name);
  if (!caches(stage)) return {};
  if (stage.loop_stages != stages)
    return fmt::format("loop_stages: the stage of {} holds {} steps, another one of the loop {}", name,
                       stage.loop_stages, stages);
  const std::size_t axis = *group.loop->axis(place);
  if (group.loop->stepped(place) && stage.steps() > 1)
    return fmt::format("loop_stages: the stage of {} takes {} steps of its own", name, stage.steps());
  for (std::size_t i = 0; i < stage.space->inputs.size(); ++i)
    if (stage.operands[i].once && stage.space->inputs[i].uses(static_cast<int>(axis)))
      return fmt::format("{} is copied once, and each step of the loop has its own part of it",
                         stage.space->inputs[i].name);
  return {};
}

}  // namespace tilescope::tile

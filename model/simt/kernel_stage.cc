// SPDX-License-Identifier: Apache-2.0
#include "model/simt/kernel_stage.h"

#include "model/simt/warp_access.h"
#include "tile/loop_ring.h"
#include "tile/microkernel/rules.h"
#include "tile/staging.h"

namespace tilescope::model {

KernelStage alone(const tile::StageProgram& p, const arch::CoreSpec& core) {
  KernelStage out;
  out.blocks = p.blocks();
  out.scratchpad = tile::staging_of(p, core).bytes;
  out.shares = step_shares(tile::live_steps_of(p), p);
  return out;
}

namespace {

void add_loop(KernelStage& k, const tile::RProgram& p, const tile::GroupLayout& group, std::size_t i) {
  const tile::GroupLoop& loop = *group.loop;
  if (loop.stepped(i)) k.stepped = loop.axis(i);
  if (loop.stepped(i) || loop.runs(i)) k.repeats = loop.steps;
  k.in_ring = loop.has(i) && tile::loop_stages_of(p, group) > 1;
  k.rescaling = loop.rescaling(i);
  k.leaves_factors = loop.coefficient(i).has_value();
  const std::size_t extremum = k.rescaling != nullptr ? loop.first + k.rescaling->extremum : i;
  k.factors_by_rows = tile::holds_rows(p.simt()[group.stages[extremum].stage]);
  k.carried_registers = tile::carried_registers(p, group, i);
}

}  // namespace

std::vector<KernelStage> kernel_stages(const tile::RProgram& p, const tile::GroupLayout& group) {
  const auto program = [&](std::size_t i) -> const tile::StageProgram& { return p.simt()[group.stages[i].stage]; };
  std::vector<KernelStage> out;
  const tile::StageProgram& last = program(group.stages.size() - 1);
  const StepShares of_loop = group.loop ? step_shares(tile::live_steps_of_loop(p, group), last) : StepShares{};
  for (std::size_t i = 0; i < group.stages.size(); ++i) {
    KernelStage& k = out.emplace_back();
    k.blocks = program(group.stages.size() - 1).blocks();
    k.scratchpad = group.bytes;
    k.threads = group.threads;
    k.keeps_output = group.stages[i].keeps_output;
    k.holds_output = group.stages[i].holds_output;
    k.first = i == 0;
    for (const int from : group.stages[i].held_inputs) k.held.push_back(from >= 0);
    if (group.loop) add_loop(k, p, group, i);
    k.shares = group.loop && group.loop->has(i) ? of_loop : step_shares(tile::live_steps_of_stage(p, group, i), last);
    for (const int from : group.stages[i].kept_inputs) {
      if (from < 0) {
        k.kept_pitch.push_back(std::nullopt);
        continue;
      }
      const tile::StageProgram& writer = program(static_cast<std::size_t>(from));
      const tile::TileShape shape = tile::data_tile(writer.space->output, writer.block);
      k.kept_pitch.push_back(pitch_of_rows(shape, writer.operands.back().padding));
    }
  }
  return out;
}

}  // namespace tilescope::model

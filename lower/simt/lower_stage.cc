// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/lower_stage.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "arch/derive.h"
#include "lower/simt/detail/carrying.h"
#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {
namespace {

// The last stage's blocks are the kernel's; registers are those of the stage that needs most, with what is carried on
// around it.
Kernel empty_kernel(const tile::RProgram& program, const std::vector<const tile::StageProgram*>& stages,
                    const tile::GroupLayout& group, const arch::ArchSpec& chip) {
  Kernel k;
  k.name = "compute_" + stages.back()->space->output.name;
  k.blocks = stages.back()->blocks();
  k.threads = group.threads;
  k.warp = chip.core.warp;
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (const std::int64_t own = stages[i]->registers; own > 0)
      k.registers = std::max(k.registers, std::min(own + tile::carried_registers(program, group, i),
                                                   std::max(own, arch::max_registers(chip, k.threads))));
  return k;
}

void add_inputs(Stage& s) {
  for (const std::string& name : s.expression().scalars) s.scalars.push_back(s.block.scalar(name));
  for (std::size_t i = 0; i < s.space().inputs.size(); ++i) {
    const expr::Tensor& t = s.tensor_of(s.space().inputs[i]);
    const bool kept = s.place.kept_inputs[i] != nullptr;
    s.memory.push_back(kept ? -1 : s.block.memory(t.name, t.dtype, t.elements(), Role::kInput));
  }
}

// Where the tile of a stage begins along its spatial axes, from where the kernel's block and the group's loop stand.
std::vector<Affine> begins_of(const tile::GroupedStage& s, const std::vector<Affine>& block, const Affine& step) {
  std::vector<Affine> out;
  for (const tile::TileBegin& begin : s.begins) {
    Affine& along = out.emplace_back(constant(begin.offset) + step * begin.step);
    for (const expr::Term& t : begin.terms) along = along + block[static_cast<std::size_t>(t.axis)] * t.coefficient;
  }
  return out;
}

CarriedPlace carried_place(const tile::GroupLayout& group, std::size_t i, const std::deque<KeptTile>& factors) {
  const tile::GroupLoop& loop = *group.loop;
  CarriedPlace out{loop.runs(i), loop.coefficient(i), group.stages[i].factors, loop.rescaling(i), nullptr};
  if (out.rescaling != nullptr) out.factors = &factors[loop.first + out.rescaling->extremum];
  return out;
}

}  // namespace

void lower_group(const tile::RProgram& program, const tile::GroupLayout& group, const arch::ArchSpec& chip,
                 const std::set<std::string>& names, Module& module, base::Diagnostics& diags, base::Position at) {
  std::vector<const tile::StageProgram*> programs;
  for (const tile::GroupedStage& s : group.stages) programs.push_back(&program.simt()[s.stage]);
  BlockBuilder block(empty_kernel(program, programs, group, chip), module, names, diags, at);
  const std::vector<Affine> begins = block_begins(*programs.back(), block.indices());
  block.kernel().shared_bytes = group.bytes.n;
  std::deque<KeptTile> kept(group.stages.size()), factors(group.stages.size());
  // Where stages are carried on: the group's loop over their steps, what stands in it, and what does behind it.
  const StepLoop loop(block.indices(), group.loop ? group.loop->steps : 1);
  Body body, in_loop, behind_loop;
  int leaves_for = -1;
  bool split = false;
  for (std::size_t i = 0; i < group.stages.size(); ++i) {
    const tile::GroupedStage& grouped = group.stages[i];
    StagePlace place{begins_of(grouped, begins, loop.step), grouped.staging, {}, {}};
    for (const int from : grouped.kept_inputs)
      place.kept_inputs.push_back(from < 0 ? nullptr : &kept[static_cast<std::size_t>(from)]);
    if (grouped.keeps_output) place.keeps_output_at = grouped.kept;
    Stage stage(*programs[i], chip, std::move(place), block);
    add_inputs(stage);
    const auto products = lowering_of_micro_kernel(stage);
    Transfers transfers(stage, *products);
    const auto results = lowering_of_results(stage, *products);
    results->add_registers();
    products->add_registers();
    const BlockParts parts{stage, *products, transfers, *results};
    const bool in = group.loop && group.loop->has(i);
    Body* leaves_in = in ? &in_loop : &body;
    if (!in || group.loop->stepped(i)) {
      *leaves_in = with(std::move(*leaves_in), pipelined(parts));
    } else {
      Carrying carrying(parts, carried_place(group, i, factors));
      factors[i] = carrying.factors();
      body = with(std::move(body), carrying.before());
      in_loop = with(std::move(in_loop), carrying.in_step(loop.step));
      behind_loop = with(std::move(behind_loop), carrying.behind());
      if (!group.loop->runs(i)) leaves_in = &behind_loop;
    }
    if (grouped.keeps_output) {
      const CachedTile& tile = stage.tiles.back();
      kept[i] = {tile.shared, tile.shape, tile.pitch, stage.place.begins};
      *leaves_in = with(std::move(*leaves_in), at_barrier(stage.space().output.name + " is whole"));
    } else {
      leaves_for = block.kernel().buffers[static_cast<std::size_t>(stage.memory.back())].global;
      split = stage.split();
    }
    if (in && i == group.loop->last) {
      in_loop = with(std::move(in_loop), at_barrier("every thread is done with the step"));
      body = with(with(std::move(body), loop.around(std::move(in_loop))), std::move(behind_loop));
    }
  }
  block.finish(std::move(body));
  if (!split) return;
  const tile::StageProgram& p = *programs.back();
  const expr::Tensor& t = p.space->expression.tensors[static_cast<std::size_t>(p.space->output.tensor)];
  module.globals.push_back({t.name, t.dtype, t.elements(), Role::kOutput});
  module.kernels.push_back(combine_parts(p, chip, module, leaves_for, static_cast<int>(module.globals.size() - 1)));
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/lower_stage.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {
namespace {

// The last stage's blocks are the kernel's; registers are those of the stage that needs most.
Kernel empty_kernel(const std::vector<const tile::StageProgram*>& stages, const tile::GroupLayout& group,
                    const arch::ArchSpec& chip) {
  Kernel k;
  k.name = "compute_" + stages.back()->space->output.name;
  k.blocks = stages.back()->blocks();
  k.threads = group.threads;
  k.warp = chip.core.warp;
  for (const tile::StageProgram* p : stages) k.registers = std::max(k.registers, p->registers);
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

// Where the tile of a stage begins along its spatial axes, from where the kernel's block does.
std::vector<Affine> begins_of(const tile::GroupedStage& s, const std::vector<Affine>& block) {
  std::vector<Affine> out;
  for (const tile::TileBegin& begin : s.begins) {
    Affine& along = out.emplace_back(constant(begin.offset));
    for (const expr::Term& t : begin.terms) along = along + block[static_cast<std::size_t>(t.axis)] * t.coefficient;
  }
  return out;
}

}  // namespace

void lower_group(const tile::RProgram& program, const tile::GroupLayout& group, const arch::ArchSpec& chip,
                 const std::set<std::string>& names, Module& module, base::Diagnostics& diags, base::Position at) {
  std::vector<const tile::StageProgram*> programs;
  for (const tile::GroupedStage& s : group.stages) programs.push_back(&program.simt()[s.stage]);
  BlockBuilder block(empty_kernel(programs, group, chip), module, names, diags, at);
  const std::vector<Affine> begins = block_begins(*programs.back(), block.indices());
  block.kernel().shared_bytes = group.bytes.n;
  std::deque<KeptTile> kept(group.stages.size());
  Body body;
  int leaves_for = -1;
  bool split = false;
  for (std::size_t i = 0; i < group.stages.size(); ++i) {
    const tile::GroupedStage& grouped = group.stages[i];
    StagePlace place{begins_of(grouped, begins), grouped.staging, {}, {}};
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
    body = with(std::move(body), pipelined({stage, *products, transfers, *results}));
    if (grouped.keeps_output) {
      const CachedTile& tile = stage.tiles.back();
      kept[i] = {tile.shared, tile.shape, tile.pitch, stage.place.begins};
      body = with(std::move(body), at_barrier(stage.space().output.name + " is whole"));
    } else {
      leaves_for = block.kernel().buffers[static_cast<std::size_t>(stage.memory.back())].global;
      split = stage.split();
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

// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/detail/lower_stage.h"

#include "lower/simt/pipeline/detail/lowering.h"

namespace tilescope::lower {
namespace {

Kernel empty_kernel(const tile::StageProgram& p, const arch::ArchSpec& chip) {
  Kernel k;
  k.name = "compute_" + p.space->output.name;
  k.blocks = p.blocks();
  k.threads = p.threads();
  k.warp = chip.core.warp;
  k.registers = p.registers;
  return k;
}

void add_inputs(Stage& s) {
  for (const std::string& name : s.expression().scalars) s.scalars.push_back(s.block.scalar(name));
  for (const tile::Operand& o : s.space().inputs) {
    const expr::Tensor& t = s.tensor_of(o);
    s.memory.push_back(s.block.memory(t.name, t.dtype, t.elements(), Role::kInput));
  }
}

}  // namespace

void lower_stage(const tile::StageProgram& p, const arch::ArchSpec& chip, const std::set<std::string>& names,
                 Module& module, base::Diagnostics& diags, base::Position at) {
  BlockBuilder block(empty_kernel(p, chip), module, names, diags, at);
  Stage stage(p, chip, block);
  add_inputs(stage);
  const auto products = lowering_of_micro_kernel(stage);
  Transfers transfers(stage, *products);
  block.kernel().shared_bytes = stage.staging.bytes.n;
  const auto results = lowering_of_results(stage, *products);
  results->add_registers();
  products->add_registers();
  const int leaves_for = block.kernel().buffers[static_cast<std::size_t>(stage.memory.back())].global;
  block.finish(pipelined({stage, *products, transfers, *results}));
  if (!stage.split()) return;
  const expr::Tensor& t = stage.tensor_of(stage.space().output);
  module.globals.push_back({t.name, t.dtype, t.elements(), Role::kOutput});
  module.kernels.push_back(combine_parts(p, chip, module, leaves_for, static_cast<int>(module.globals.size() - 1)));
}

}  // namespace tilescope::lower

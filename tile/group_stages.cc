// SPDX-License-Identifier: Apache-2.0
// What a group makes of the programs of its stages.

#include <algorithm>
#include <numeric>

#include "base/integer.h"
#include "tile/fit.h"
#include "tile/group.h"
#include "tile/microkernel/rules.h"

namespace tilescope::tile {

std::int64_t aligned_vector(const RProgram& p, const GroupLayout& group, std::size_t place, std::size_t input,
                            std::int64_t vector) {
  const GroupedStage& s = group.stages[place];
  const StageProgram &stage = p.simt()[s.stage], &last = p.simt()[group.stages.back().stage];
  const Operand& o = stage.space->inputs[input];
  if (o.dims.empty()) return vector;
  for (const expr::Term& t : o.dims.back().terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    if (axis >= stage.space->spatial) continue;
    vector = std::gcd(vector, t.coefficient * s.begins[axis].offset);
    vector = std::gcd(vector, t.coefficient * s.begins[axis].step);
    for (const expr::Term& u : s.begins[axis].terms)
      vector = std::gcd(vector, t.coefficient * u.coefficient * last.block[static_cast<std::size_t>(u.axis)]);
  }
  return vector;
}

StageProgram with_kept_rows(const RProgram& p, const GroupLayout& group, std::size_t place) {
  StageProgram out = p.simt()[group.stages[place].stage];
  for (std::size_t i = 0; out.matrix() != nullptr && i < out.space->values; ++i) {
    const int from = group.stages[place].kept_inputs[i];
    if (from < 0) continue;
    const StageProgram& writer = p.simt()[group.stages[static_cast<std::size_t>(from)].stage];
    out.operands[i].padding = data_tile(writer.space->output, writer.block).back() + writer.operands.back().padding -
                              data_tile(out.space->inputs[i], out.block).back();
  }
  return out;
}

std::int64_t carried_registers(const RProgram& p, const GroupLayout& group, std::size_t place) {
  std::int64_t bytes = 0;
  const std::vector<int>& held = group.stages[place].held_inputs;
  for (std::size_t i = 0; group.loop && group.loop->has(place) && i < group.stages.size(); ++i) {
    if (i == place || !group.loop->has(i)) continue;
    const StageProgram& stage = p.simt()[group.stages[i].stage];
    const std::int64_t results = data_tile_elements(stage.space->output, stage.thread) / stage.lanes();
    const std::int64_t bytes_left = results * stage.space->output.element.n;
    if (group.loop->stepped(i)) {
      // What a product multiplies of an earlier stage's registers is there for all of it.
      const bool whole = has_own_tiles(p.simt()[group.stages[place].stage]) &&
                         std::find(held.begin(), held.end(), static_cast<int>(i)) != held.end();
      if (whole) bytes += bytes_left;
      continue;
    }
    bytes += results * base::size_of(stage.space->expression.accumulate).n;
    if (!group.loop->coefficient(i)) continue;
    bytes += bytes_left;  // as it was a step before
    if (holds_rows(stage)) bytes += results * base::size_of(stage.space->expression.accumulate).n;  // the factor
  }
  return base::ceil_div(bytes, kRegisterBytes);
}

std::int64_t kept_elements(const StageProgram& p) {
  return data_tile_elements(p.space->output, p.block, p.operands.back().padding);
}

}  // namespace tilescope::tile

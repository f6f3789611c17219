// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/direct_store.h"

namespace tilescope::lower {

Body DirectStoreLowering::store(const Sync& /*sync*/) {
  const tile::Operand& output = s_.space().output;
  const std::int64_t vector = s_.p.operands.back().vector;
  const std::vector<std::vector<AxisLoop>> by_axis = products_.result_loops(vector);
  const StepPosition begin = s_.indices.at_step(constant(0));
  std::vector<Affine> local = s_.local_values(by_axis);
  products_.add_lane(local);
  const std::vector<Affine> axes = s_.absolute_values(local, begin);
  Located to = s_.addresses.in_memory(output, tile::output_read(s_.stage()), axes);
  to.inside.clear();
  for (std::size_t a = 0; a < s_.space().spatial; ++a)
    if (s_.maker().range(axes[a]).high >= s_.space().axes[a].extent)
      to.inside.push_back({axes[a], s_.space().axes[a].extent});
  s_.add_first_sharer(to.inside);
  if (s_.p.is_split()) to.offset = to.offset + s_.indices.part() * s_.tensor_of(output).elements();
  s_.check_aligned(output.name, to, vector);
  Copy copy{
      {s_.memory.back(), to.offset}, {s_.results.leaving, products_.result_position(vector)}, vector, to.inside, {}};
  Body body = nest(joined(by_axis), {{copy, {}}}, true);
  body.front().note = "store " + output.name;
  return body;
}

}  // namespace tilescope::lower

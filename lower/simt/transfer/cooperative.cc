// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/cooperative.h"

namespace tilescope::lower {

void CooperativeLowering::add_batches(std::int64_t most) {
  pieces_.cut(most);
  CachedTile t = s_.shape_of_tile(operand_);
  t.shared =
      s_.block.shared(operand().name + "_tile", s_.tensor_of(operand()).dtype, t.ring_stage_elements * s_.stages_held(),
                      s_.place.scratchpad + s_.staging.begins[operand_]);
  tile() = t;
}

Located CooperativeLowering::in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at) {
  const tile::Operand& o = operand();
  Located from = s_.addresses.tile_element(o, s_.read(static_cast<std::size_t>(o.reads.front())), at_in_tile, at.begin);
  if (!products_.reads_beyond_end()) return from;
  for (std::size_t d = 0; d < o.dims.size(); ++d)
    for (const expr::Term& t : o.dims[d].terms)
      if (const auto a = static_cast<std::size_t>(t.axis); a >= s_.space().spatial)
        s_.add_ends(a, at.begin[a] + at_in_tile[d], from.inside);
  return from;
}

}  // namespace tilescope::lower

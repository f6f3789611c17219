// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/gathered.h"

#include <utility>

#include "arch/derive.h"
#include "tile/transfer/results.h"

namespace tilescope::lower {

void GatheredLowering::add_tile() {
  CachedTile t = s_.shape_of_tile(output_);
  t.shared = s_.block.shared(s_.space().output.name + "_tile", s_.block.dtype_of(s_.results.leaving),
                             t.ring_stage_elements * s_.p.tile_loop.crews, s_.place.scratchpad + s_.staging.results,
                             swizzled_row());
  s_.tiles[output_] = t;
}

Affine GatheredLowering::in_tile(const std::vector<Affine>& at) {
  Affine offset = of_crew();
  for (std::size_t d = 0; d < at.size(); ++d) offset = offset + at[d] * tile().pitch[d];
  return offset;
}

Affine GatheredLowering::of_crew() const { return constant(s_.crew * tile().ring_stage_elements); }

Statement GatheredLowering::gather() {
  const std::int64_t vector = tile::results_side_by_side(s_.p, arch::widest_access_of(s_.chip));
  const std::vector<std::vector<AxisLoop>> by_axis = products_.result_loops(vector);
  std::vector<Affine> local = s_.local_values(by_axis);
  products_.add_lane(local);
  const tile::Operand& output = s_.space().output;
  const TilePlace place = s_.addresses.in_tile(output, tile::output_read(s_.stage()), local, local);
  std::vector<Guard> when;
  s_.add_first_sharer(when);
  const Copy copy{
      {tile().shared, in_tile(place.at)}, {s_.results.leaving, products_.result_position(vector)}, vector, when, {}};
  return noted(nest(joined(by_axis), {{copy, {}}}, true).front(), "gather " + output.name);
}

Body GatheredLowering::store(const Sync& sync) {
  Body body;
  if (s_.any_cached() || combining_.through_scratchpad() || s_.place.others_read)
    body = sync("every thread has read what lies where the results will");
  body.push_back(gather());
  body = with(std::move(body), written());
  body = with(std::move(body), sync("the rows of results are whole"));
  return with(std::move(body), leave_tile());
}

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/tma_store.h"

#include <utility>

#include "lower/simt/transfer/detail/tma.h"
#include "tile/transfer/results.h"
#include "tile/transfer/tma.h"

namespace tilescope::lower {

base::Bytes TmaStoreLowering::swizzled_row() const { return tile::swizzled_result_row(s_.p, *s_.chip.core.tma); }

Affine TmaStoreLowering::in_tile(const std::vector<Affine>& at) {
  const std::int64_t box = s_.p.operands[output_].box;
  const std::size_t last = at.size() - 1;
  // A panel begins as many elements behind the one before it as a box has, less those that its columns are further.
  const Affine panel = s_.maker().quotient(at[last], box, 0, s_.space().output.name + "_panel");
  Affine offset = of_crew() + panel * (tile::box_elements(s_.p, output_) - box) + at[last] + at[last - 1] * box;
  for (std::size_t d = 0; d + 1 < last; ++d) offset = offset + at[d] * tile().pitch[d];
  return offset;
}

// What threads wrote is seen by the engine.
Body TmaStoreLowering::written() {
  Body body;
  body.push_back({ProxyFence{}, {}});
  return body;
}

Body TmaStoreLowering::leave_tile() {
  TileBoxes of = boxes_of_tile(s_, output_, of_crew(), s_.indices.at_step(constant(0)).begin);
  Body body = nest(of.loops, {{TmaStore{std::move(of.box)}, {}}}, true);
  body.front().note = "store " + s_.space().output.name;
  return body;
}

}  // namespace tilescope::lower

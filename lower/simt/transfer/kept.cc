// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/transfer/detail/kept.h"

namespace tilescope::lower {

void KeptLowering::add_tile() {
  CachedTile t = s_.shape_of_tile(output_);
  t.shared = s_.block.shared(s_.space().output.name + "_kept", s_.block.dtype_of(s_.results.leaving),
                             t.ring_stage_elements, *s_.place.keeps_output_at);
  s_.tiles[output_] = t;
}

// The tile lies apart from all that the stage itself uses of the scratchpad.
Body KeptLowering::store(const Sync& sync) {
  Body body;
  if (s_.place.others_read) body = sync("every thread has read what lies where the results will");
  body.push_back(gather());
  return body;
}

}  // namespace tilescope::lower

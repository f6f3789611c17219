// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that the threads of a block gather in the scratchpad, where whole rows of the tile lie, before they are
// stored.

#include <vector>

#include "lower/simt/transfer/detail/results.h"

namespace tilescope::lower {

class GatheredLowering : public ResultsLowering {
 public:
  GatheredLowering(Stage& stage, MicroKernelLowering& products)
      : ResultsLowering(stage, products), output_(stage.space().inputs.size()) {}

 protected:
  void add_tile() override;
  const CachedTile& tile() const { return s_.tiles[output_]; }
  // Where the tile of the crew begins that the statements are for.
  Affine of_crew() const;
  // Bytes of the tile's rows that are swizzled; here none are.
  virtual base::Bytes swizzled_row() const { return {0}; }
  // The element of the tile at coordinates of it; here row by row.
  virtual Affine in_tile(const std::vector<Affine>& at);
  // What a thread does behind its own writes, before it meets the others.
  virtual Body written() { return {}; }
  // From the tile, which is whole, to memory.
  virtual Body leave_tile() = 0;
  const std::size_t output_;

  Body store(const Sync& sync) override;
  // What this thread holds to its place in the tile.
  Statement gather();
};

}  // namespace tilescope::lower

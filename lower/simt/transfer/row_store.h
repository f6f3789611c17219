#pragma once
// Results that threads gather in the scratchpad, from where all of them store whole rows.

#include "lower/simt/transfer/pieces.h"
#include "lower/simt/transfer/results.h"

namespace tilescope::lower {

class RowStoreLowering final : public ResultsLowering {
 public:
  RowStoreLowering(Stage& stage, MicroKernelLowering& products);

 private:
  void add_tile() override;
  Body store(const Meeting& meet) override;
  // The element of the tile at coordinates of it.
  Affine in_rows(const std::vector<Affine>& at) const;
  // What this thread holds to its place in the tile; pieces of the tile to memory.
  Statement gather();
  Body store_pieces();

  const std::size_t output_;
  CooperativePieces pieces_;
  int carried_ = -1;  // buffer of registers
};

}  // namespace tilescope::lower

#pragma once
// Copies in which every thread of a block takes part: thread t takes the pieces t, t + T, ... of a staged tile in its
// own order, `vector` elements each, or a chunk of neighbours.

#include <vector>

#include "lower/simt/transfer/lowering.h"

namespace tilescope::lower {

class CooperativeLowering : public TransferLowering {
 public:
  using TransferLowering::TransferLowering;

 protected:
  struct Piece {
    std::vector<AxisLoop> loops;
    std::vector<Affine> at;  // coordinates in the data tile
    Affine in_flight;        // elements of the registers that carry it
    std::vector<Guard> when;
  };
  // Pieces of the tile that a thread copies in a step, at most.
  std::int64_t pieces_of_thread() const;
  // Adds the tile, and cuts the pieces of a thread into batches of at most so many.
  void add_batches(std::int64_t most);
  Piece piece(std::int64_t batch);
  // Where an element of the tile is in memory; what a matrix instruction may not add up is outside.
  Located in_memory(const std::vector<Affine>& at_in_tile, const StepPosition& at);

  std::int64_t batches_ = 1;
  std::int64_t batch_ = 0;  // pieces of one

 private:
  std::int64_t pieces() const;  // of the whole tile

  int piece_loop_ = -1;  // index of the loop over a batch
};

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pieces of a tile in the scratchpad that the threads of a block move together: thread t takes the pieces t, t + T,
// ... of the tile in its own order, `vector` elements each (striped), or neighbouring ones (blocked).

#include <cstdint>
#include <vector>

#include "lower/simt/detail/stage.h"

namespace tilescope::lower {

class CooperativePieces {
 public:
  CooperativePieces(Stage& stage, std::size_t operand) : s_(stage), operand_(operand) {}

  // Of the tile that one thread takes, at most; and of those as many as pass its registers at a time, all loads first,
  // then the stores: what the chip's compiler unrolls a copy loop to. More would cost resident blocks. All of them
  // where nothing is known of the compiler.
  std::int64_t of_thread() const;
  std::int64_t max_in_flight(base::Bytes element) const;
  // Cuts a thread's pieces into batches of at most so many.
  void cut(std::int64_t most);
  std::int64_t batches() const { return batches_; }
  std::int64_t in_batch() const { return batch_; }

  struct Piece {
    std::vector<AxisLoop> loops;
    std::vector<Affine> at;  // coordinates in the data tile
    Affine in_batch;         // its number in the batch
    std::vector<Guard> when;
  };
  Piece piece(std::int64_t batch);

 private:
  const tile::Operand& operand() const { return s_.space().operand(operand_); }
  const tile::OperandPlan& plan() const { return s_.p.operands[operand_]; }
  std::int64_t of_tile() const;

  Stage& s_;
  const std::size_t operand_;
  std::int64_t batches_ = 1, batch_ = 0;
  int loop_ = -1;  // index of the loop over a batch
};

}  // namespace tilescope::lower

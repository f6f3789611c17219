// SPDX-License-Identifier: Apache-2.0
#pragma once
// The accesses of a program's warps, and what one costs, counted from the addresses of its lanes: bank passes in a
// scratchpad, sectors and lines in a cache.

#include <cstdint>

#include "model/simt/access_pattern.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// Of addresses, word by word.
BankUse bank_use(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together = 1);
// Whether every lane and its neighbour, or every lane and its neighbour but one, access the same bytes: then some chips
// serve groups together.
bool neighbours_agree(const WarpAccess& access);
std::int64_t granules_touched(const WarpAccess& access, std::int64_t granule);

// Those of them that the lanes do not cover, where the first lane's access begins `from` bytes behind a granule's
// beginning.
std::int64_t granules_partly_covered(const WarpAccess& access, std::int64_t granule, std::int64_t from);

// Elements from a cached tile's beginning to the element of that row and column; its rows are `length` long.
std::int64_t cached_offset(std::int64_t row, std::int64_t column, std::int64_t length, const tile::OperandPlan& plan);

// How rows of so many elements are turned.
RowTurn turn_of(std::int64_t length, base::Bytes element, const tile::OperandPlan& plan);

// Adds loops for `lanes` that lie `apart` indices of a dimension from each other, from index 0 on, in the tensor's
// memory. False where they lie in no loops; some may have been added then.
bool add_collapsed(AccessPattern& access, const tile::Operand& o, std::size_t dim, std::int64_t lanes,
                   std::int64_t apart);

// Elements between neighbours of a dimension of a cached tile whose rows are padded.
tile::TileShape pitch_of_rows(const tile::TileShape& shape, std::int64_t padding);

// The first warp's read of a cached operand in one iteration of the reduction: every lane reads `vector` elements of
// its own first index.
AccessPattern scratchpad_read(const tile::StageProgram& p, std::size_t operand, std::int64_t vector, std::int64_t warp);

// The tile in which a block's results are gathered: row by row, or in TMA boxes (tile/transfer/results.h).
class ResultTile {
 public:
  explicit ResultTile(const tile::StageProgram& p);
  // Elements from its beginning to the element so far along a dimension.
  std::int64_t offset(std::size_t dim, std::int64_t at) const;
  // Whether they lie as far apart everywhere along a dimension.
  bool in_rows() const { return box_ == 0; }

 private:
  tile::TileShape pitch_;
  std::int64_t box_ = 0, panel_ = 0;  // elements of a box's row, and of the box; 0 where there are none
};

// The first warp's write of its first results, `vector` neighbours of `element` bytes a lane, to that tile.
AccessPattern result_write(const tile::StageProgram& p, std::int64_t vector, std::int64_t warp, base::Bytes element);

// The first warp's access to an operand's own memory (an input that is not cached, or the output): offsets from the
// lowest corner of the block's tile, or where the operand is im2col from its first element.
AccessPattern memory_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// The widest access, in elements, with which a thread can read a cached operand from the scratchpad. What it needs of a
// step lies in runs: whole rows of reduced axes and of axes that threads do not share, up to its `per_thread`
// neighbours of one that they do; the access divides the run and the chip's widest one.
std::int64_t scratchpad_vector(const tile::StageProgram& p, std::size_t operand, base::Bytes max_access);

// The lanes that read, `vector` elements each, of a tile of the tensor whose dimensions lie `pitch` elements apart in
// the scratchpad, and the widest such vector: of neighbours that a thread takes, at whose multiples rows begin.
AccessPattern kept_read(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                        std::int64_t vector, std::int64_t warp);
std::int64_t kept_vector(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                         base::Bytes max_access);

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one access instruction of one warp costs, counted from the addresses of its lanes: bank passes in a scratchpad,
// sectors and lines in a cache.

#include <cstdint>
#include <span>

#include "base/fixed_vector.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

inline constexpr std::size_t kMaxWarp = arch::kMaxLanes;

// Byte offsets of the lanes of one warp, and the bytes that each lane accesses there.
struct WarpAccess {
  base::FixedVector<std::int64_t, kMaxWarp> offset;
  std::int64_t bytes = 0;
};

// Passes through a scratchpad of `banks` banks of `bank_width` bytes: lanes in order, in groups that fill all banks
// once, or `together` times; a group costs the most distinct words that any one bank must give; equal words are
// broadcast.
struct BankUse {
  std::int64_t passes = 0;
  std::int64_t groups = 0;  // what passes would be without conflicts
  std::int64_t words = 0;   // distinct within their group
};
BankUse bank_use(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together = 1);
// Whether every lane and its neighbour, or every lane and its neighbour but one, access the same bytes: then some chips
// serve groups together.
bool neighbours_agree(const WarpAccess& access);
inline std::int64_t bank_passes(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width) {
  return bank_use(access, banks, bank_width).passes;
}

// Distinct aligned granules (sectors, lines) of `granule` bytes that the lanes touch.
std::int64_t granules_touched(const WarpAccess& access, std::int64_t granule);

// Those of them that the lanes do not cover, where the first lane's access begins `from` bytes behind a granule's
// beginning.
std::int64_t granules_partly_covered(const WarpAccess& access, std::int64_t granule, std::int64_t from);

// Elements from a cached tile's beginning to the element of that row and column; its rows are `length` long.
std::int64_t cached_offset(std::int64_t row, std::int64_t column, std::int64_t length, const tile::OperandPlan& plan);

// Elements between neighbours of a dimension of a cached tile whose rows are padded.
tile::TileShape pitch_of_rows(const tile::TileShape& shape, std::int64_t padding);

// The first warp's read of a cached operand in one iteration of the reduction: every lane reads `vector` elements of
// its own first index.
WarpAccess scratchpad_read(const tile::StageProgram& p, std::size_t operand, std::int64_t vector, std::int64_t warp);

// The tile in which a block's results are gathered: row by row, or in TMA boxes (tile/transfer/results.h).
class ResultTile {
 public:
  explicit ResultTile(const tile::StageProgram& p);
  // Elements from its beginning to the element so far along a dimension.
  std::int64_t offset(std::size_t dim, std::int64_t at) const;

 private:
  tile::TileShape pitch_;
  std::int64_t box_ = 0, panel_ = 0;  // elements of a box's row, and of the box; 0 where there are none
};

// The first warp's write of its first results, `vector` neighbours of `element` bytes a lane, to that tile.
WarpAccess result_write(const tile::StageProgram& p, std::int64_t vector, std::int64_t warp, base::Bytes element);

// The first warp's access to an operand's own memory (an input that is not cached, or the output): offsets from the
// lowest corner of the block's tile, or where the operand is im2col from its first element.
WarpAccess memory_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// The widest access, in elements, with which a thread can read a cached operand from the scratchpad. What it needs of a
// step lies in runs: whole rows of reduced axes and of axes that threads do not share, up to its `per_thread`
// neighbours of one that they do; the access divides the run and the chip's widest one.
std::int64_t scratchpad_vector(const tile::StageProgram& p, std::size_t operand, base::Bytes max_access);

// The lanes that read, `vector` elements each, of a tile of the tensor whose dimensions lie `pitch` elements apart in
// the scratchpad, and the widest such vector: of neighbours that a thread takes, at whose multiples rows begin.
WarpAccess kept_read(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                     std::int64_t vector, std::int64_t warp);
std::int64_t kept_vector(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                         base::Bytes max_access);

}  // namespace tilescope::model

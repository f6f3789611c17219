// SPDX-License-Identifier: Apache-2.0
#pragma once
// The accesses of a program's warps, and what one costs, counted from the addresses of its lanes: bank passes in a
// scratchpad, sectors and lines in a cache.

#include <cstdint>

#include "model/simt/access_pattern.h"
#include "model/simt/machine.h"
#include "tile/program.h"

namespace tilescope::model {

// The bank use from addresses, word by word.
BankUse bank_use(const WarpAccess& access, std::int64_t banks, std::int64_t bank_width, std::int64_t together = 1);
// Whether the lanes l and l ^ 1 access the same bytes for all l, or the lanes l and l ^ 2: then some chips serve groups
// together.
bool neighbours_agree(const WarpAccess& access);
std::int64_t granules_touched(const WarpAccess& access, std::int64_t granule);

// Number of touched granules that the lanes cover only in part, where the lowest access begins `from` bytes behind a
// granule's beginning.
std::int64_t granules_partly_covered(const WarpAccess& access, std::int64_t granule, std::int64_t from);

// Offset in elements of that row and column within a cached tile whose rows are `length` long.
std::int64_t cached_offset(std::int64_t row, std::int64_t column, std::int64_t length, const tile::OperandPlan& plan);

// The rotation of rows of `length` elements.
RowTurn turn_of(std::int64_t length, base::Bytes element, const tile::OperandPlan& plan);

// Adds loops for `lanes` lanes that lie `apart` indices of dimension `dim` from each other, from index 0 on, in the
// tensor's memory. Returns false where no loops describe them; some may have been added then.
bool add_collapsed(AccessPattern& access, const tile::Operand& o, std::size_t dim, std::int64_t lanes,
                   std::int64_t apart);

// Elements between neighbours along each dimension of a cached tile whose rows are padded.
tile::TileShape pitch_of_rows(const tile::TileShape& shape, std::int64_t padding);

// The first warp's read of a cached operand in one iteration of the reduction: every lane reads `vector` elements from
// its own first index on.
AccessPattern scratchpad_read(const tile::StageProgram& p, std::size_t operand, std::int64_t vector, std::int64_t warp);

// The tile in which a block's results are gathered: row by row, or in TMA boxes (tile/transfer/results.h).
class ResultTile {
 public:
  explicit ResultTile(const tile::StageProgram& p);
  // Offset in elements of index `at` along a dimension.
  std::int64_t offset(std::size_t dim, std::int64_t at) const;
  // Whether neighbours along a dimension are the same distance apart everywhere.
  bool in_rows() const { return box_ == 0; }

 private:
  tile::TileShape pitch_;
  std::int64_t box_ = 0, panel_ = 0;  // elements of a box's row, and of the box; 0 where there are none
};

// The first warp's write of its first results, `vector` neighbours of `element` bytes a lane, to that tile.
AccessPattern result_write(const tile::StageProgram& p, std::int64_t vector, std::int64_t warp, base::Bytes element);

// The first warp's access to an operand's own memory (an input that is not cached, or the output). Offsets are from the
// lowest corner of the block's tile, or, of an im2col operand, from its first element.
AccessPattern memory_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// The same of a gathered operand where all elements of the table select one row.
AccessPattern row_access(const tile::StageProgram& p, std::size_t operand, std::int64_t warp);

// The widest access, in elements, with which a thread can read a cached operand from the scratchpad. The elements that
// it needs in a step lie in runs: whole rows along reduced axes and axes that threads do not share, and up to
// `per_thread` neighbours along one that they share. The access divides the run and the chip's widest access.
std::int64_t scratchpad_vector(const tile::StageProgram& p, std::size_t operand, base::Bytes max_access);

// The first warp's read, `vector` elements a lane, of a tensor's tile in the scratchpad whose dimensions have `pitch`
// elements between neighbours; and the widest such vector, which divides the neighbours that a thread takes and the
// distance of rows.
AccessPattern kept_read(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                        std::int64_t vector, std::int64_t warp);
std::int64_t kept_vector(const tile::StageProgram& p, std::size_t operand, const tile::TileShape& pitch,
                         base::Bytes max_access);

}  // namespace tilescope::model

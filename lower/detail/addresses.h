// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the elements that a program reads and writes lie: in a tensor's memory, and in its cached data tile.

#include <utility>
#include <vector>

#include "lower/detail/tile_indices.h"

namespace tilescope::lower {

// An offset in elements, and what must hold for it to lie inside its array.
struct Located {
  Affine offset;
  std::vector<Guard> inside;
};

// Coordinates in a data tile, and what must hold for the element to be there.
struct TilePlace {
  std::vector<Affine> at;
  std::vector<Guard> inside;
};

class Addresses {
 public:
  Addresses(const tile::StageProgram& p, IndexMaker& maker) : space_(*p.space), block_(p.block), maker_(maker) {}

  // In the tensor's memory: what a read (of the output: its only access) touches where the tile axes have these values.
  Located in_memory(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& axes);
  // The same of an operand that is gathered: without what the index adds, and with the conditions of the table's
  // element, whose place is `table`.
  Located gathered_in_memory(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                             Affine& table);
  // In the tensor's memory: the element at coordinates `at` of the data tile that a read (of the output: its only
  // access) has, of the block's tile that begins at `begin` along the tile axes.
  Located tile_element(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& at,
                       const std::vector<Affine>& begin);
  // The same of an operand that is gathered, as gathered_in_memory.
  Located gathered_tile_element(const tile::Operand& o, const std::vector<Affine>& at, const std::vector<Affine>& begin,
                                Affine& table);
  // In a tile of the tensor's elements that the block keeps: what a read touches where the tile axes have these values.
  // The tile's dimensions are the tensor's; it begins at `begin` and has rows `pitch` apart.
  Located in_kept_tile(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                       const std::vector<Affine>& begin, const tile::TileShape& shape, const tile::TileShape& pitch);
  // The same of coordinates over the stage's axes, in a tile whose tensor the stage does not read: inside the tile.
  Located in_tile_of(const std::vector<expr::Coordinate>& coordinates, const std::vector<Affine>& axes,
                     const std::vector<Affine>& begin, const tile::TileShape& shape, const tile::TileShape& pitch);
  // Whether so many neighbours along its last dimension, from there on, are inside both the tensor and the tile where
  // the first of them is.
  bool neighbours_in_kept_tile(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& axes,
                               const std::vector<Affine>& begin, const tile::TileShape& shape, std::int64_t neighbours);
  // The coordinates in the data tile of what a read touches where the tile axes have these values within the block's
  // tile (`local`) and in all (`axes`).
  TilePlace in_tile(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& local,
                    const std::vector<Affine>& axes);

  // The coordinate of a read along a dimension of its data tile, which is no im2col one: of an operand that is gathered
  // the table's where the dimension is one of the table's.
  const expr::Coordinate& coordinate_of(const tile::Operand& o, const expr::Read& read, const tile::TileDim& dim) const;
  // The coordinate, which need not be a tensor's, where the tile axes have these values.
  Affine coordinate(const expr::Coordinate& c, const std::vector<Affine>& axes);

 private:
  const expr::Stage& stage() const { return space_.stage(); }
  const std::vector<std::int64_t>& shape_of(const tile::Operand& o) const;
  // Adds a guard where the value can leave 0 .. bound-1.
  void guard(const Affine& value, std::int64_t bound, std::vector<Guard>& inside) const;
  // The value of one of the stage's own axes.
  Affine stage_axis(int axis, const std::vector<Affine>& axes);
  Located in_dims(const tile::Operand& o, const std::vector<Affine>& at) const;
  // Of a place along a dimension of a gathered operand's data tile, the table's element and the row beside it.
  std::pair<Affine, Affine> in_pages(const tile::Operand& o, const tile::TileDim& dim, const Affine& at);
  // The tensor's coordinates of an element of a data tile.
  std::vector<Affine> in_tensor(const tile::Operand& o, const std::vector<Affine>& at,
                                const std::vector<Affine>& begin) const;
  Affine by_runs(const tile::Operand& o, const std::vector<Affine>& axes);
  Located by_stage_axes(const tile::Operand& o, const expr::Read& read, const std::vector<Affine>& axes);

  const tile::TileSpace& space_;
  const tile::Extents& block_;
  IndexMaker& maker_;
};

}  // namespace tilescope::lower

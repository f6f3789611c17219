// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a block's, a thread's and a step's part of every loop begins, as affines of the kernel's indices.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lower/affine.h"
#include "tile/program.h"

namespace tilescope::lower {

// One reduction step of a block: where each tile axis stands in it (spatial axes have no part in it).
struct StepPosition {
  std::vector<Affine> begin;  // by tile axis: of the part of the split, elements
  Affine step;                // its number
};

// A loop that one thread runs through for one tile axis, and how far one iteration moves along the axis.
struct AxisLoop {
  int index = 0;
  std::int64_t extent = 1;
  std::int64_t stride = 1;    // along the axis
  std::int64_t position = 1;  // in a thread's own count of its elements
};

// Where the tile of a block begins along every spatial axis, as the program numbers its blocks; and the tile of that
// number, whose derived indices are named after `what`.
std::vector<Affine> block_begins(const tile::StageProgram& p, IndexMaker& maker);
std::vector<Affine> tile_begins(const tile::StageProgram& p, const Affine& number, const std::string& what,
                                IndexMaker& maker);

class TileIndices {
 public:
  // `begins`: where the block's tile begins along the spatial axes.
  TileIndices(const tile::StageProgram& p, std::vector<Affine> begins, IndexMaker& maker);

  // From here on the block's tile begins there along the spatial axes: persistent blocks go from tile to tile.
  void move_to(const std::vector<Affine>& begins);

  // The range of a reduced axis that one part of a split covers.
  std::int64_t part_extent(std::size_t axis) const;
  // Number of the part of a split reduction that this block computes.
  const Affine& part() const { return part_; }
  // Number of the thread among those that share its reductions.
  const Affine& sharer() const { return sharer_; }

  // First index of the block's tile along a spatial axis; of the part along a reduced one.
  const Affine& block_begin(std::size_t axis) const { return block_begin_[axis]; }
  // The block's position at a step, which may be an affine of loop indices or a constant.
  StepPosition at_step(const Affine& step);
  // How a thread's elements lie along an axis. Of a reduced one they are the iterations of a chunk, in `per_thread`.
  const tile::AxisMapping& mapping(std::size_t axis) const { return mapping_[axis]; }
  // Loops over one thread's elements along an axis, `vector` neighbours an iteration; outermost first. Empty where the
  // thread has one such piece.
  std::vector<AxisLoop> thread_loops(std::size_t axis, std::int64_t vector);
  // Of those the loop over what vthreads stride apart, and the one over neighbours.
  std::vector<AxisLoop> far_loops(std::size_t axis);
  std::vector<AxisLoop> near_loops(std::size_t axis, std::int64_t vector);
  // A loop over a run of `extent` elements from the first of a thread's neighbours along an axis on, beyond which it
  // may lead.
  std::vector<AxisLoop> run_loops(std::size_t axis, std::int64_t extent, std::int64_t vector);
  // Iterations of a reduced axis in one step of one thread.
  std::int64_t points(std::size_t axis) const;
  // The axis of the innermost loop over iterations, or nothing where a step is one iteration.
  std::optional<std::size_t> innermost() const;
  // From here on that axis goes by chunks of `length` iterations, of which it has a multiple and which threads that
  // share it take in turn, and a thread loops over a chunk as it does over its neighbours along a spatial axis. A
  // program's register tiles are cut from the start.
  void cut(std::size_t axis, std::int64_t length);
  // Loops over one step's chunks of iterations, in the program's order, outermost first, and over the iterations of a
  // chunk.
  std::vector<AxisLoop> chunk_loops() const;
  std::vector<AxisLoop> point_loops();
  // Where the loops stand along the axis, in the block's tile: the sum of their parts.
  Affine along(std::size_t axis, const std::vector<AxisLoop>& loops) const;
  // The same in a thread's own count of elements along the axis.
  Affine position(const std::vector<AxisLoop>& loops) const;

 private:
  const tile::TileSpace& space() const { return *p_.space; }
  void begin_chunks(std::size_t axis, std::int64_t length, const std::string& name);
  int thread_loop(std::size_t axis, std::int64_t kind, const std::string& suffix, std::int64_t extent);

  const tile::StageProgram& p_;
  IndexMaker& maker_;
  Affine part_, sharer_;
  std::vector<tile::AxisMapping> mapping_;
  // Where a thread's elements begin in the block's tile; along a reduced axis, where a chunk does in its step.
  std::vector<Affine> block_begin_, thread_begin_;
  // Of a reduced axis: the thread's number among those that share it, and the index of the loop over its chunks, or -1.
  std::vector<Affine> sharer_of_;
  std::vector<int> chunk_loop_;
  // Loop indices by axis and the number of neighbours that one iteration takes; 0 for the loop over vthreads.
  std::map<std::pair<std::size_t, std::int64_t>, int> thread_loops_;
};

}  // namespace tilescope::lower

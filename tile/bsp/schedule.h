// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a machine of tiles that exchange executes a stage (bulk-synchronous: compute, meet, exchange), as plain data.
//
// What a program means; every reader respects it.
//
// Parts:
// - `grid` cuts every tile axis in parts of ceil(extent / grid) iterations, the last ones possibly shorter or empty;
//   one core has one part of every axis. Cores are numbered over the grid in `core_order`, the last axis fastest. Parts
//   of a reduced axis are partial sums, which the cores that share a result exchange and add up at the end, each an
//   even share of the result's part.
//
// Steps:
// - A core runs through the blocks of its part, `block` iterations of every axis at a time, the loops in `loop_order`,
//   outermost first. Each is a superstep: the exchange that brings what the block needs, and its arithmetic.
//
// Moves, of every input:
// - hold: before the first step the core gets all that its part reads.
// - fetch: each step brings what its block reads, unless the step before read the same; into one buffer, or into two in
//   turn, so that a chip whose exchange runs beside arithmetic (link.overlap) brings the next block's in good time.
// - Of an operand that is held or fetched, `ring` cores may gather what they share: each brings a slice of it, cut
// along
//   a loop, `axis`, from where it is at home, and a second exchange sends every slice to the others (an all-gather). A
//   home then sends each element once to a ring, and short runs of it cost a pointer on one core in place of all.
// - rotate: the cores that share what their parts read are numbered in the order of the grid, those axes that the
//   operand does not use; `ring` neighbours are a ring. The operand's part is cut along a loop, `axis`, in `ring`
//   slices, of which each core of a ring holds one; it passes round when the core is done with it (compute-shift: T10,
//   SOSP'24, section 4). A core begins with the slice of its place in the ring; where several operands rotate along one
//   loop, with that of the sum of its places, so that all of them have the same slice at any time (Cannon's algorithm).
//   In a ring that is `folded`, neighbours lie two cores apart at most (WaferLLM, OSDI'25, section 5.2); a straight
//   one's last core passes its slice all the way to the first.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tile/bsp/dataflow.h"
#include "tile/space.h"

namespace tilescope::tile {

struct OperandDataflow {
  Dataflow how = Dataflow::kFetch;
  std::int64_t buffers = 1;  // of a fetched operand
  std::int64_t ring = 1;     // cores that pass or send slices to each other
  int axis = -1;             // the tile axis along which these are cut

  // Whether a ring's cores bring a slice each and send it to the others.
  bool gathers() const { return how != Dataflow::kShift && ring > 1; }

  bool operator==(const OperandDataflow&) const = default;
};

struct BspSchedule {
  Extents grid;                                               // per tile axis: parts
  base::FixedVector<int, kMaxAxes> core_order;                // tile axes, slowest first
  base::FixedVector<int, kMaxAxes> loop_order;                // tile axes, outermost loop first
  base::FixedVector<OperandDataflow, kMaxOperands> dataflow;  // inputs in order
  bool folded = false;                                        // rings
  bool prearranged = false;       // of the first stage: inputs that it holds or rotates lie where
                                  // it wants them, and are not brought there
  bool tensors_in_cores = false;  // of the first stage: what the program reads and its results are at home in the
                                  // cores' memory although the chip has a DRAM
  std::string instruction;        // of the chip: what computes

  bool operator==(const BspSchedule&) const = default;
};

// A stage's program for a machine of tiles that exchange.
struct BspStage : BspSchedule {
  std::shared_ptr<const TileSpace> space;
  Extents block;  // per tile axis: what a core computes in one step

  // Cores that the grid has.
  std::int64_t cores() const;
  // Cores that share what their parts read of an operand, itself among them: they differ along axes that it lacks.
  std::int64_t sharing(const Operand& operand) const;
  // Iterations of an axis that are one core's.
  std::int64_t part(std::size_t axis) const;
  // Slices that operands which rotate along the loop cut a part into; 1 where none does.
  std::int64_t slices(std::size_t axis) const;
  // Blocks of one slice along an axis, and of a whole part.
  std::int64_t blocks_of_slice(std::size_t axis) const;
  std::int64_t blocks(std::size_t axis) const { return slices(axis) * blocks_of_slice(axis); }
  // Supersteps of one core.
  std::int64_t steps() const;
  // Of the axes' numbers in the order of the cores' numbers: one more along an axis is so many cores further.
  std::int64_t core_stride(std::size_t axis) const;

  bool operator==(const BspStage& o) const {
    return BspSchedule::operator==(o) && block == o.block && (space == o.space || *space == *o.space);
  }
};

}  // namespace tilescope::tile

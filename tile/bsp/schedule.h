// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a machine of tiles that exchange executes a stage (bulk-synchronous: compute, synchronize, exchange), as plain
// data.
//
// The meaning of a program, which all code that uses programs respects:
//
// Parts:
// - `grid` cuts every tile axis into parts of ceil(extent / grid) iterations, the last ones possibly shorter or empty;
//   one core has one part of every axis. Cores are numbered over the grid in `core_order`, the last axis fastest. Parts
//   of a reduced axis are partial sums: at the end, the cores that share a result exchange and add them, each an even
//   share of the result's part.
//
// Steps:
// - A core runs through the blocks of its part, `block` iterations of every axis at a time, with the loops in
//   `loop_order`, outermost first. Each step is a superstep: the exchange of the data that the block needs, and its
//   arithmetic.
//
// Moves, for every input:
// - hold (kStationary): before the first step the core gets all data that its part reads; where inputs are prearranged,
//   only what it shares with neighbours and lies on one of them.
// - fetch (kFetch): each step brings the data that its block reads, unless the step before read the same. With two
//   alternating buffers, a chip whose exchange overlaps with arithmetic (link.overlap) brings the next block's data
//   ahead of time.
// - An operand that is held or fetched may be gathered by the `ring` cores that share it: each core brings a slice of
//   it, cut along a loop, `axis`, from its home, and a second exchange sends every slice to the others (an all-gather).
//   A home then sends each element once to a ring, and the pointers for short runs are needed on one core instead of
//   all.
// - rotate (kShift): the cores whose parts read the same data are numbered in grid order over the axes that the operand
//   does not use; each `ring` neighbours form a ring. The operand's part is cut along a loop, `axis`, into `ring`
//   slices. Each core of a ring holds one slice and passes it on when the core is done with it (compute-shift: T10,
//   SOSP'24, section 4). A core begins with the slice of its position in the ring; where several operands rotate along
//   one loop, it begins with the slice of the sum of its positions, so that all of them have the same slice at any time
//   (Cannon's algorithm). In a `folded` ring, neighbours lie two cores apart at most (WaferLLM, OSDI'25, section 5.2);
//   in a straight ring, the last core passes its slice all the way to the first.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/choices.h"
#include "tile/space.h"

namespace tilescope::tile {

using base::Dataflow;

struct OperandDataflow {
  Dataflow how = Dataflow::kFetch;
  std::int64_t buffers = 1;  // of a fetched operand
  std::int64_t ring = 1;     // cores that pass or send slices to each other
  int axis = -1;             // the tile axis along which slices are cut

  // Whether each core of a ring brings a slice and sends it to the others.
  bool gathers() const { return how != Dataflow::kShift && ring > 1; }

  bool operator==(const OperandDataflow&) const = default;
};

struct BspSchedule {
  Extents grid;                                               // per tile axis: number of parts
  base::FixedVector<int, kMaxAxes> core_order;                // tile axes, slowest first
  base::FixedVector<int, kMaxAxes> loop_order;                // tile axes, outermost loop first
  base::FixedVector<OperandDataflow, kMaxOperands> dataflow;  // inputs in order
  bool folded = false;                                        // whether rings are folded
  bool prearranged = false;       // of the first stage: inputs that it holds or rotates already lie where it wants them
  bool tensors_in_cores = false;  // of the first stage: the program's inputs and results have their home in the cores'
                                  // memory although the chip has a DRAM
  std::string instruction;        // the chip's compute instruction

  bool operator==(const BspSchedule&) const = default;
};

// A stage's program for a machine of tiles that exchange.
struct BspStage : BspSchedule {
  std::shared_ptr<const TileSpace> space;
  Extents block;  // per tile axis: iterations of a core in one step

  // Number of cores in the grid.
  std::int64_t cores() const;
  // Number of cores whose parts read the same data of an operand, this one included: they differ along axes that the
  // operand does not use.
  std::int64_t sharing(const Operand& operand) const;
  // Iterations of an axis in one core's part.
  std::int64_t part(std::size_t axis) const;
  // Number of slices into which operands that rotate along the axis cut a part; 1 where none does.
  std::int64_t slices(std::size_t axis) const;
  // Number of blocks along an axis: of one slice, and of a whole part.
  std::int64_t blocks_of_slice(std::size_t axis) const;
  std::int64_t blocks(std::size_t axis) const { return slices(axis) * blocks_of_slice(axis); }
  // Supersteps of one core.
  std::int64_t steps() const;
  // Distance in core numbers between neighbours along an axis.
  std::int64_t core_stride(std::size_t axis) const;

  bool operator==(const BspStage& o) const {
    return BspSchedule::operator==(o) && block == o.block && (space == o.space || *space == *o.space);
  }
};

}  // namespace tilescope::tile

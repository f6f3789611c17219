// SPDX-License-Identifier: Apache-2.0
#pragma once
// How cores that run threads in lockstep (SIMT) execute a tiling. A schedule varies in three respects: how tiles and
// results are copied (transfer/), what multiplies (microkernel/), and how steps overlap (`num_stages`, and producer
// warps for TMA loads). Every layer that treats these variants differently has a folder for each respect.

#include <cstdint>

#include "tile/microkernel/micro_kernel.h"
#include "tile/space.h"

namespace tilescope::tile {

struct AxisMapping {
  std::int64_t vthread = 1;
  std::int64_t threads = 1;
  std::int64_t per_thread = 1;

  std::int64_t block_extent() const { return vthread * threads * per_thread; }
  std::int64_t thread_extent() const { return vthread * per_thread; }
  bool operator==(const AxisMapping&) const = default;
};

// How one operand is handled. The results of a cached output pass through the scratchpad (tile/transfer/results.h).
struct OperandPlan {
  bool cached = false;       // kept in the scratchpad; for an input, the tile of a reduction step
  std::int64_t padding = 0;  // elements of padding in each cached row
  std::int64_t vector = 1;   // elements of one thread's access to memory
  std::int64_t rotate = 0;   // elements by which each cached row is rotated relative to the one before it
  bool blocked = false;      // every thread copies contiguous pieces, as TVM's templates do; else striped
  std::int64_t box = 0;      // elements in a row of the boxes that TMA copies; 0 where threads copy
  bool once = false;         // copied once, before the group's loop, in whose steps the tile is the same (loop_ring.h)

  bool operator==(const OperandPlan&) const = default;
};

enum class BlockOrder : std::uint8_t { kRow, kColumn };

// One digit of a block's number: an increment moves `stride` blocks along an axis.
struct BlockDigit {
  std::size_t axis = 0;
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

// Blocks that run at the same time on cores of their own, neighbours along one spatial axis. TMA loads that they have
// in common write to the scratchpads of all of them (tile/transfer/multicast.h).
struct BlockCluster {
  std::size_t axis = 0;
  std::int64_t blocks = 1;  // divides the number of blocks along the axis

  bool operator==(const BlockCluster&) const = default;
};

// Persistent blocks (CUTLASS's persistent tile scheduler): fewer blocks than tiles are launched, and each takes tiles
// in turn (tile/tile_loop.h). A crew is the warps that compute a tile together.
struct TileLoop {
  std::int64_t blocks = 0;  // that are launched; 0: a block for each tile
  std::int64_t crews = 1;   // 1: all consumer warps compute one tile (cooperative); 2: two tiles by turns (ping-pong)

  bool operator==(const TileLoop&) const = default;
};

struct SimtSchedule {
  base::FixedVector<AxisMapping, kMaxAxes> mapping;  // per spatial axis
  base::FixedVector<int, kMaxAxes> thread_order;     // spatial axes, slowest first
  Extents reduction_threads;  // per tile axis: threads that share the iterations of a step; 1 for a spatial axis
  base::FixedVector<OperandPlan, kMaxOperands> operands;  // inputs in order, then the output
  std::int64_t registers = 0;
  std::int64_t unroll = 0;
  std::int64_t num_stages = 1;
  std::int64_t loop_stages = 1;  // steps of the group's loop whose cached tiles a block holds at a time (loop_ring.h)
  BlockOrder block_order = BlockOrder::kRow;
  std::int64_t group_m = 1;  // divides the number of blocks along the axis next to the fastest one
  BlockCluster cluster;
  TileLoop tile_loop;
  MicroKernel micro_kernel;  // what multiplies

  // The matrix instruction of the micro-kernel, or null.
  const MatrixUnit* matrix() const { return unit_of(micro_kernel); }
  // Whether TMA loads the cached tiles, started by a producer warp (transfer/tma.h): those of all inputs or none.
  bool by_tma() const;
  // Whether blocks take several tiles in turn.
  bool is_persistent() const { return tile_loop.blocks > 0; }
  // Threads that hold a register tile together: one, or those that execute a matrix instruction.
  std::int64_t lanes() const { return lanes_of(micro_kernel); }
  // Number of neighbouring threads in a block that share every reduction.
  std::int64_t sharers() const;
  // Threads that compute a tile; threads of a block, of all crews and with the producer warp where there is one.
  std::int64_t threads() const;
  std::int64_t threads_with_producers(std::int64_t warp) const;

  bool operator==(const SimtSchedule&) const = default;
};

}  // namespace tilescope::tile

#pragma once
// How cores that run threads in lockstep (SIMT) execute a tiling. What varies is three families, each a folder of its
// own in every layer that treats its entries differently: how tiles and results are copied (transfer/), what multiplies
// (microkernel/), and how steps overlap (`pipeline`, and warps of their own for TMA loads).

#include <cstdint>

#include "tile/microkernel/micro_kernel.h"
#include "tile/space.h"

namespace tilescope::tile {

struct AxisMapping {
  std::int64_t virtual_threads = 1;
  std::int64_t threads = 1;
  std::int64_t serial = 1;

  std::int64_t block_extent() const { return virtual_threads * threads * serial; }
  std::int64_t thread_extent() const { return virtual_threads * serial; }
  bool operator==(const AxisMapping&) const = default;
};

// How one operand is handled. A staged output: its results leave through the scratchpad (tile/transfer/results.h).
struct OperandPlan {
  bool staged = false;       // kept in the scratchpad, of an input per reduction step, between two barriers
  std::int64_t padding = 0;  // elements that its staged rows are longer
  std::int64_t vector = 1;   // elements of one access of one thread to memory
  std::int64_t swizzle = 0;  // elements by which each staged row is rotated further than the one before
  bool chunked = false;      // every thread copies pieces that lie side by side, as TVM's templates do
  std::int64_t box = 0;      // elements of a row of the boxes that one thread has brought; 0 where threads copy

  bool operator==(const OperandPlan&) const = default;
};

enum class Raster : std::uint8_t { kRow, kColumn };

// One digit of a block's number: one more moves `stride` blocks along an axis.
struct BlockDigit {
  std::size_t axis = 0;
  std::int64_t count = 1;
  std::int64_t stride = 1;
};

struct SimtSchedule {
  base::FixedVector<AxisMapping, kMaxAxes> mapping;       // per spatial axis
  base::FixedVector<int, kMaxAxes> thread_order;          // spatial axes, slowest first
  base::FixedVector<OperandPlan, kMaxOperands> operands;  // inputs in order, then the output
  std::int64_t registers = 0;
  std::int64_t unroll = 0;
  std::int64_t pipeline = 1;
  Raster raster = Raster::kRow;
  std::int64_t band = 1;     // divides the blocks along the axis beside the fastest one
  MicroKernel micro_kernel;  // what multiplies

  // The matrix instruction that it multiplies by, or null.
  const MatrixUnit* matrix() const { return unit_of(micro_kernel); }
  // Whether a warp of its own has staged tiles brought box by box (transfer/tma.h); then it is so of all of them.
  bool in_boxes() const;
  // Threads that keep a register tile together: one, or those that execute a matrix instruction.
  std::int64_t lanes() const { return lanes_of(micro_kernel); }
  // Of a block: those that compute, and with the warp that only copies, where there is one.
  std::int64_t threads() const;
  std::int64_t threads_with_copiers(std::int64_t warp) const;
};

}  // namespace tilescope::tile

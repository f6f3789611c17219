#pragma once
// An rProgram: how the work of one or several stages is cut for a chip (ROLLER OSDI'22, section 3.2), as plain data.
//
// What a program means, and every reader of it has to respect:
//   An index of spatial axis a is ((block*virtual_threads + v)*threads + t)*serial + s.
//   Thread number: axes in the order of `thread_order`, the last one fastest; core.warp of them make a warp.
//   Blocks are numbered over the grid, spatial axes in order, the last one fastest (raster row) or the first one
//   fastest (raster column). In bands, so many rows of blocks (along the axis beside the fastest) are numbered column
//   by column before the next ones, so that blocks which run at the same time share more of both operands. The parts of
//   a split reduction are the slowest of all. A part is a contiguous range of the axis, the last one possibly shorter;
//   every part writes partial results of its own to memory, which a second step adds up in the order of the parts.
//   Reduced axes are stepped through in `order`, the block tile's extent at a time. In a step every staged operand is
//   copied once, between two barriers where `pipeline` is 1; with more pipeline stages that many steps' tiles are held,
//   and a step waits for its own copy alone. A cooperative copy gives thread t the pieces t, t + T, ... of the staged
//   tile in the data tile's row-major order, `vector` elements each; a `chunked` one gives it n neighbouring pieces,
//   from t*n on, n being what each of T threads has to take. An operand that is not staged is read by every thread for
//   itself, `vector` neighbouring elements along its innermost axis at a time; results are stored likewise. The
//   register tile of a reduced axis is a window: a thread reads what all points of a window need of an operand once,
//   elements that several points share included (filter taps that overlap), and then computes them; windows cut a
//   step's points into whole parts. With a matrix instruction, `threads` of an axis counts warps in place of threads,
//   and a register tile is a warp's: whole fragments, its window along the instruction's k a fragment long. Then every
//   input is staged, a warp's lanes share the reads of its tile (tile/microkernel/mma.h), and they hold results as the
//   instruction's map of them says. An instruction that reads its factors from the
//   scratchpad is one of several warps: `threads` counts such groups, and its staged tiles lie in core matrices
//   (tile/microkernel/wgmma.h). Those may be brought in boxes (tile/transfer/tma.h): one thread of a further warp asks
//   for them, as many steps ahead as there are pipeline stages, and the others wait for their step's alone. `registers`
//   holds the compiler to so many of a thread, on which the program counts for the blocks that a core holds; 0 leaves
//   it to the compiler. `unroll` is a hint to the emitter: the most statements an inner loop is unrolled to; 0 leaves
//   it to the compiler.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
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

struct StageProgram {
  std::shared_ptr<const TileSpace> space;
  Extents block;   // per tile axis: what one block computes, and for a reduced axis what it stages per step
  Extents thread;  // per tile axis: what one thread keeps in registers; of a reduced axis, the points of a window
  base::FixedVector<AxisMapping, kMaxAxes> mapping;       // per spatial axis
  base::FixedVector<int, kMaxAxes> thread_order;          // spatial axes, slowest first
  base::FixedVector<int, kMaxAxes> order;                 // reduced axes, outermost loop first
  base::FixedVector<OperandPlan, kMaxOperands> operands;  // inputs in order, then the output
  Extents split;  // per tile axis: in how many parts blocks share a reduction; 1 of a spatial axis
  std::int64_t registers = 0;
  std::int64_t unroll = 0;
  std::int64_t pipeline = 1;
  Raster raster = Raster::kRow;
  std::int64_t band = 1;     // divides the blocks along the axis beside the fastest one
  MicroKernel micro_kernel;  // what multiplies

  // How blocks are numbered over the spatial axes, the slowest digit first.
  base::FixedVector<BlockDigit, kMaxAxes + 1> block_digits() const;
  std::int64_t blocks_along(std::size_t spatial_axis) const;
  // The axis whose blocks bands are made of: the one beside the fastest; nothing where there is one axis.
  std::optional<std::size_t> banded_axis() const;

  // The matrix instruction that it multiplies by, or null.
  const MatrixUnit* matrix() const { return unit_of(micro_kernel); }
  // Whether a warp of its own has staged tiles brought box by box (tile/transfer/tma.h); then it is so of all of them.
  bool in_boxes() const;
  // Threads that keep a register tile together: one, or those that execute a matrix instruction.
  std::int64_t lanes() const { return lanes_of(micro_kernel); }
  // Of a block: those that compute, and with the warp that only copies, where there is one.
  std::int64_t threads() const;
  std::int64_t threads_with_copiers(std::int64_t warp) const;
  std::int64_t blocks() const;
  // Reduction steps of one block.
  std::int64_t steps() const;
  // Points of the reduction that one thread walks through in a step, for each of its results.
  double points_per_step() const;
  // Points of a reduced axis in one step of one part.
  std::int64_t points_along(std::size_t axis) const;
  // Windows that one thread walks through in a step.
  double windows_per_step() const;
  // Steps whose staged tiles a block holds at a time: one where there is no further step to fetch for.
  std::int64_t slots() const;
};

// The level at which a tensor passes from one stage to the next.
struct Edge {
  int from = 0, to = 0;  // stages
  std::string tensor;
  std::string level;

  bool operator==(const Edge&) const = default;
};

struct RProgram {
  std::string arch;
  std::vector<StageProgram> stages;
  std::vector<Edge> edges;
};

// A program of one stage with the defaults of docs/json.md, PROGRAM: every input staged where the stage reduces, no
// padding, one pipeline stage, no split, widest vectors. `mapping` decides block and thread tiles; `step` has the
// reduced axes' extents. `max_vector` bounds the width of one access of one thread.
StageProgram make_stage_program(std::shared_ptr<const TileSpace> space,
                                const base::FixedVector<AxisMapping, kMaxAxes>& mapping, const Extents& step,
                                base::Bytes max_vector);

// Whether a thread reads a dimension of an operand's data tile as one run that the points of its window share: filter
// taps one element apart beside each other (`y+r`, `x*2+s`), no more elements than its points taken one by one.
bool reads_window(const StageProgram& p, const Operand& operand, std::size_t dim);

// The elements of that run: Σ coefficient (neighbours - 1) + 1.
std::int64_t window_extent(const StageProgram& p, const TileDim& dim);

// Whether fragments can lie along the axes: the stage is a sum of products of two tensors, of which the first has rows
// and depth and the second columns and depth, each coordinate a single loop.
bool is_matrix_product(const TileSpace& space, std::size_t rows, std::size_t columns, std::size_t depth);

// The program with another micro-kernel. With a matrix instruction its mapping counts warps, and its tiles are whole
// fragments of a matrix product (checked).
StageProgram with_micro_kernel(StageProgram p, MicroKernel kernel, base::Bytes max_vector);

// Elements of an operand that one thread, or the warp of a matrix instruction, reads for one window, at most: for all
// its results.
double fragment_elements(const StageProgram& p, std::size_t operand);

// The widest power of two of elements, at most `max_vector`, that divides the operand's staged row (its contiguous run
// in memory and its padding), so that no access straddles two rows.
std::int64_t widest_vector(const Operand& operand, const Extents& tile, std::int64_t padding, base::Bytes max_vector);

// The vector of an operand of which nothing else is said: a staged tile is copied in its own order, padding included;
// what is read or written directly moves as far as one thread's neighbours go.
std::int64_t default_vector(const StageProgram& p, std::size_t operand, base::Bytes max_vector);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// An rProgram: how the work of one or several stages is cut for a chip (ROLLER OSDI'22, section 3.2), as plain data: a
// tile space, a tiling of it (tiling.h), and a schedule for a class of machine (schedule.h).
//
// What a program means, and every reader of it has to respect:
//   An index of spatial axis a is ((block*vthread + v)*threads + t)*per_thread + s.
//   Thread number: axes in the order of `thread_order`, the last one fastest; core.warp of them make a warp.
//   Blocks are numbered over the grid, spatial axes in order, the last one fastest (`block_order` row) or the first one
//   fastest (column). In groups, `group_m` rows of blocks (along the axis beside the fastest) are numbered column by
//   column before the next ones, so that blocks which run at the same time share more of both operands. The parts of a
//   split reduction are the slowest of all. A part is a contiguous range of the axis, the last one possibly shorter;
//   every part writes partial results of its own to memory, which a second step adds up in the order of the parts.
//   Reduced axes are stepped through in `reduction_order`, the block tile's extent at a time. In a step every cached
//   operand is copied once, between two barriers where `num_stages` is 1; with more pipeline stages that many steps'
//   tiles are held, and a step waits for its own copy alone. A cooperative copy gives thread t the pieces t, t + T, ...
//   of the cached tile in the data tile's row-major order, `vector` elements each; a `blocked` one gives it n
//   neighbouring pieces, from t*n on, n being what each of T threads has to take. An operand that is not cached is read
//   by every thread for itself, `vector` neighbouring elements along its innermost axis at a time; results are stored
//   likewise. A thread reads what all iterations of its register tile along a reduced axis need of an operand once,
//   elements that several of them share included (filter taps that overlap), and then computes them; register tiles cut
//   a step's iterations into whole parts. With a matrix instruction, `threads` of an axis counts warps in place of
//   threads, and a register tile is a warp's: whole fragments, along the instruction's k one fragment. Then every input
//   is cached, a warp's lanes share the reads of its tile (tile/microkernel/mma.h), and they hold results as the
//   instruction's map of them says. An instruction that reads its factors from the scratchpad is one of several warps:
//   `threads` counts such groups, and its cached tiles lie in core matrices (tile/microkernel/wgmma.h). Those may be
//   brought in boxes (tile/transfer/tma.h): one thread of a further warp asks for them, as many steps ahead as there
//   are pipeline stages, and the others wait for their step's alone. `registers` holds the compiler to so many of a
//   thread, on which the program counts for the blocks that a core holds; 0 leaves it to the compiler. `unroll` is a
//   hint to the emitter: the most statements an inner loop is unrolled to; 0 leaves it to the compiler.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "tile/schedule.h"
#include "tile/tiling.h"

namespace tilescope::tile {

// A stage's program for a machine of SIMT cores. Of another class of machine: the same tiling with a schedule of its
// own.
struct StageProgram : Tiling, SimtSchedule {
  // How blocks are numbered over the spatial axes, the slowest digit first.
  base::FixedVector<BlockDigit, kMaxAxes + 1> block_digits() const;
  // The axis whose blocks groups are made of: the one beside the fastest; nothing where there is one axis.
  std::optional<std::size_t> grouped_axis() const;
  // Steps whose cached tiles a block holds at a time: one where there is no further step to fetch for.
  std::int64_t stages_held() const;
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
  std::vector<StageProgram> nodes;
  std::vector<Edge> edges;
};

// A program of one stage with the defaults of docs/json.md, PROGRAM: every input cached where the stage reduces, no
// padding, one pipeline stage, no split, widest vectors. `mapping` decides block and thread tiles; `step` has the
// reduced axes' extents. `max_vector` bounds the width of one access of one thread.
StageProgram make_stage_program(std::shared_ptr<const TileSpace> space,
                                const base::FixedVector<AxisMapping, kMaxAxes>& mapping, const Extents& step,
                                base::Bytes max_vector);

// Whether a thread reads a dimension of an operand's data tile as one run that the points of its register tile share:
// filter taps one element apart beside each other (`y+r`, `x*2+s`), no more elements than its points taken one by one.
bool reads_reduction_tile(const StageProgram& p, const Operand& operand, std::size_t dim);

// The elements of that run: Σ coefficient (neighbours - 1) + 1.
std::int64_t reduction_tile_extent(const StageProgram& p, const TileDim& dim);

// Whether fragments can lie along the axes: the stage is a sum of products of two tensors, of which the first has rows
// and depth and the second columns and depth, each coordinate a single loop.
bool is_matrix_product(const TileSpace& space, std::size_t rows, std::size_t columns, std::size_t depth);

// The program with another micro-kernel. With a matrix instruction its mapping counts warps, and its tiles are whole
// fragments of a matrix product (checked).
StageProgram with_micro_kernel(StageProgram p, MicroKernel kernel, base::Bytes max_vector);

// Elements of an operand that one thread, or the warp of a matrix instruction, reads for one register tile, at most:
// for all its results.
double fragment_elements(const StageProgram& p, std::size_t operand);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
#pragma once
// An rProgram: how the work of one or several stages is divided for a chip (ROLLER OSDI'22, section 3.2), as plain
// data: a tile space, a tiling of it (tiling.h), and a schedule for a class of machines (schedule.h).
//
// The meaning of a program, which all code that uses programs respects:
//
// Numbering:
// - An index of spatial axis a is ((block*vthread + v)*threads + t)*per_thread + s.
// - Threads are numbered over the axes in the order of `thread_order`, then over the reduced axes that threads share in
//   `reduction_order`, the last one fastest. Each core.warp consecutive threads form a warp.
// - Blocks are numbered over the grid, spatial axes in order, the last one fastest (`block_order` row) or the first one
//   fastest (column). With `group_m`, that many rows of blocks (along the axis next to the fastest) are numbered column
//   by column before the next rows, so that concurrent blocks share more of both operands. Blocks of a `cluster` have
//   consecutive numbers: their place along its axis is the fastest digit. The parts of a split reduction are the
//   slowest digit.
// - Persistent blocks (`tile_loop`) number tiles instead: block b of n computes the tiles b, b + n, ... (tile_loop.h).
//
// Reduction:
// - A part of a split is a contiguous range of the axis, the last one possibly shorter. Every part writes its own
//   partial results to memory; a second kernel adds them up in the order of the parts.
// - A block steps through reduced axes in `reduction_order`, the block tile's extent at a time. In a step every cached
//   operand is copied once, between two barriers where `num_stages` is 1. With more stages, the scratchpad holds the
//   tiles of `num_stages` steps (a ring buffer), and a step waits for its own copy only.
// - A thread reads each operand element once for all iterations of its register tile along a reduced axis, elements
//   that several iterations share included (overlapping filter taps), and then computes the iterations. Register tiles
//   divide a step's iterations evenly.
// - Threads that share a reduced axis take its register tiles in turn: of n threads the u-th takes tiles u, u + n, ...
//   of a step. After the last step their results are combined in each of them (tile/shared_reduction.h); the first
//   thread stores.
//
// Copies:
// - A cooperative copy gives thread t the pieces t, t + T, ... of the cached tile in the data tile's row-major order,
//   `vector` elements each. A `blocked` copy gives it n consecutive pieces, from t*n on, where n is the number of
//   pieces per thread for T threads.
// - Every thread reads an operand that is not cached for itself, `vector` contiguous elements along its innermost axis
//   at a time. Results are stored likewise, or pass through the scratchpad where the output is cached
//   (tile/transfer/results.h).
//
// Matrix instructions:
// - `threads` of an axis counts warps instead of threads, and a register tile belongs to a warp: whole fragments, and
//   one fragment along the instruction's k. Every input is cached, a warp's lanes share the reads of its tile
//   (tile/microkernel/mma.h), and they hold results as the instruction's map of results specifies.
// - Several warps execute an instruction that reads its operands from the scratchpad: `threads` counts such groups of
//   warps, and cached tiles lie in core matrices (tile/microkernel/wgmma.h). TMA may load them (tile/transfer/tma.h):
//   one thread of a producer warp starts the loads, up to `num_stages` steps ahead, and consumer warps wait only for
//   the loads of their own step.
//
// Edges:
// - A tensor passes from the stage that writes it to a later one through memory (an edge at the outermost level), in
//   the scratchpad, or in registers. Edges of the last two kinds join stages into one kernel (group.h).
// - A tensor in the scratchpad is a tile that covers the data that a block of later stages reads; it is complete before
//   any of them begins. In registers a thread passes its results on to an epilogue, which computes its own results in
//   the same thread (microkernel/epilogue.h).
// - Reductions may be carried across steps: stages share a loop over the steps of a reduced axis, and sums are rescaled
//   when the maximum in their exponentials changes (group_loop.h; Milakov and Gimelshein 2018). This changes the order
//   of sums; edges specify it (`carried`).
//
// Compiler:
// - `registers` is the limit imposed on the compiler, in 32-bit registers per thread; the program's occupancy relies on
//   it. 0 leaves the choice to the compiler.
// - `unroll` is a hint to the emitter: the greatest number of statements to which an inner loop is unrolled. 0 leaves
//   it to the compiler.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "tile/bsp/schedule.h"
#include "tile/schedule.h"
#include "tile/tiling.h"

namespace tilescope::tile {

// A stage's program for a machine of SIMT cores.
struct StageProgram : Tiling, SimtSchedule {
  // The digits of a block's number over the spatial axes, the slowest one first.
  base::FixedVector<BlockDigit, kMaxAxes + 2> block_digits() const;
  // Blocks of the kernel: one for each of the tiles that blocks() counts, or those of the loop over tiles.
  std::int64_t launched_blocks() const { return is_persistent() ? tile_loop.blocks : blocks(); }
  // The axis along which `group_m` groups blocks: the one next to the fastest; nullopt where there is one axis.
  std::optional<std::size_t> grouped_axis() const;
  // Number of steps whose cached tiles a block holds at a time: `num_stages`, or one where the block has one step in
  // all; of the group's loop, where it goes on from step to step of that. The same of one operand's tiles.
  std::int64_t stages_held() const;
  std::int64_t stages_held(std::size_t operand) const { return operands[operand].once ? 1 : stages_held(); }
  // The work of one thread for each of its results in one step: iterations of a reduced axis, iterations of all reduced
  // axes, and register tiles.
  std::int64_t thread_iterations_along(std::size_t axis) const;
  double iterations_per_step() const;
  double reduction_tiles_per_step() const;

  bool operator==(const StageProgram&) const = default;
};

// The level at which a tensor passes from one stage to the next.
struct Edge {
  int from = 0, to = 0;  // stages
  std::string tensor;
  std::string level;
  std::string carried = {};  // inside the core: the axis of `to` along whose steps the tensor is available, or empty

  bool operator==(const Edge&) const = default;
};

// The stages of a program, all for one class of machines.
using Nodes = std::variant<std::vector<StageProgram>, std::vector<BspStage>>;

struct RProgram {
  std::string arch;
  Nodes nodes;
  std::vector<Edge> edges;

  std::size_t stages() const;
  // Appends a stage. Returns false and changes nothing where earlier stages are for the other class of machines.
  bool add(StageProgram stage);
  bool add(BspStage stage);
  const TileSpace& space(std::size_t stage) const;
  // The stages as programs for SIMT cores (checked).
  std::vector<StageProgram>& simt() { return std::get<std::vector<StageProgram>>(nodes); }
  const std::vector<StageProgram>& simt() const { return std::get<std::vector<StageProgram>>(nodes); }
  // The stages as programs for tiles that exchange (checked).
  const std::vector<BspStage>& bsp() const { return std::get<std::vector<BspStage>>(nodes); }
};

// Positions for errors about a node: at the key that is wrong, at the node where the document lacks the key, or all at
// one place.
struct NodePlaces {
  NodePlaces(base::Position all = {})
      : node(all), sizes(all), dtype(all), tile(all), mapping(all), copy(all), registers(all), mma(all) {}

  base::Position node;
  base::Position sizes, dtype;
  base::Position tile;  // of a block in the scratchpad
  base::Position mapping, copy, registers, mma;
};

// Positions for errors about a program: its own, and those of its nodes where they are known.
struct ProgramPlaces {
  ProgramPlaces(base::Position all = {}) : program(all) {}

  base::Position program;
  std::vector<NodePlaces> nodes;

  NodePlaces at(std::size_t n) const { return nodes.empty() ? NodePlaces(program) : nodes[n]; }
  base::Position of(std::size_t n) const { return at(n).node; }
  // The position for a limit that all nodes together exceed.
  base::Position of_tiles() const { return nodes.size() == 1 ? nodes.front().tile : program; }
};

// The program of a single stage.
RProgram program_of(std::string arch, StageProgram stage);
RProgram program_of(std::string arch, BspStage stage);

// A program of one stage with the defaults of docs/json.md, PROGRAM: every input cached where the stage reduces, no
// padding, `num_stages` 1, no split, widest vectors. `mapping` determines block and thread tiles; `step` has the
// extents of the reduced axes. `max_vector` limits the width of one access of one thread.
StageProgram make_stage_program(std::shared_ptr<const TileSpace> space,
                                const base::FixedVector<AxisMapping, kMaxAxes>& mapping, const Extents& step,
                                base::Bytes max_vector);

// Whether threads hold the input in registers: its values, or coordinates of what they read directly. Copies to the
// scratchpad load the coordinates that they need.
bool in_registers(const StageProgram& p, std::size_t input);

// Whether a thread reads a dimension of an operand's data tile as one run that the iterations of its register tile
// share: filter taps one element apart (`y+r`, `x*2+s`), where the run has no more elements than separate reads of the
// iterations.
bool reads_reduction_tile(const StageProgram& p, const Operand& operand, std::size_t dim);

// Length of that run in elements: Σ coefficient (neighbours - 1) + 1.
std::int64_t reduction_tile_extent(const StageProgram& p, const TileDim& dim);

// Whether fragments can lie along the axes: the stage is a sum of products of two tensors, the first with rows and
// depth, the second with columns and depth, each coordinate a single loop.
bool is_matrix_product(const TileSpace& space, std::size_t rows, std::size_t columns, std::size_t depth);

// Why an instruction does not multiply the stage's inputs into its sums, as a predicate ("multiplies i8, and T is
// i32"); empty where it does.
std::string dtypes_refusal(const arch::ComputeSpec& instruction, const TileSpace& space);

// Whether the instruction multiplies what threads hold in registers, so that they can convert it first, to a dtype that
// holds all its values.
bool converts_operands(const arch::ComputeSpec& instruction);
// Whether the program's matrix instruction multiplies an input that is converted first.
bool is_converted(const StageProgram& p, std::size_t operand);

// The program with another micro-kernel. With a matrix instruction, its mapping counts warps, and its tiles must be
// whole fragments of a matrix product (checked).
StageProgram with_micro_kernel(StageProgram p, MicroKernel kernel, base::Bytes max_vector);

// The most elements of an operand that one thread, or the warp of a matrix instruction, reads for one register tile,
// for all its results.
double fragment_elements(const StageProgram& p, std::size_t operand);

}  // namespace tilescope::tile

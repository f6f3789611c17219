// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the lowering of one stage works with, whichever transfer, micro-kernel and pipeline the program has: the
// program, its chip, the kernel under construction, and where loops, tensors and tiles stand.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/spec.h"
#include "lower/detail/addresses.h"
#include "lower/simt/detail/block_builder.h"
#include "tile/live_steps.h"
#include "tile/staging.h"

namespace tilescope::lower {

// An operand that is kept in the scratchpad.
struct CachedTile {
  int shared = -1;  // buffer
  tile::TileShape shape;
  tile::TileShape pitch;                 // elements between neighbours of a dimension, rows padded
  std::int64_t ring_stage_elements = 0;  // of one stage of the ring buffer
};

// A thread's results in registers.
struct ResultRegisters {
  int accumulators = -1;
  int leaving = -1;               // of the dtype in which they are stored; the same buffer where that is one
  std::vector<std::size_t> axes;  // tile axes, the fastest last
};

// Results of a stage that stay in the scratchpad for those behind it in the kernel.
struct KeptTile {
  int shared = -1;  // buffer
  tile::TileShape shape, pitch;
  std::vector<Affine> begin;  // of the tile, in the tensor
};

class MicroKernelLowering;

// Results of an earlier stage that threads hold in registers, and what says where in these they are.
struct HeldTensor {
  const ResultRegisters* results = nullptr;
  MicroKernelLowering* threads = nullptr;
  bool by_rows = false;  // one a row, in every lane that has part of the row
};

// What is a stage's own in the kernel: where its tile begins, where in the scratchpad it works, what it reads there and
// in registers, and where its results stay, if they do.
struct StagePlace {
  std::vector<Affine> begins;
  base::Bytes scratchpad{0};
  std::vector<const KeptTile*> kept_inputs;            // null of what comes from elsewhere
  std::vector<std::optional<HeldTensor>> held_inputs;  // nothing of what comes from elsewhere
  std::optional<base::Bytes> keeps_output_at;
  bool holds_output = false;  // its results go on in registers
  bool others_read = false;   // before it, without a barrier since, threads read what lies in the scratchpad
  tile::LiveSteps live = {};  // of its own steps
  std::int64_t threads = 0;   // of the block, those that compute
  std::vector<Affine> kernel_begins = {};  // of the kernel's block along the kernel's spatial axes
};

class Stage {
 public:
  Stage(const tile::StageProgram& p, const arch::ArchSpec& chip, StagePlace place, BlockBuilder& block);

  const tile::TileSpace& space() const { return *p.space; }
  const expr::Expression& expression() const { return space().expression; }
  const expr::Stage& stage() const { return space().stage(); }
  const expr::Read& read(std::size_t r) const { return stage().reads[r]; }
  const expr::Tensor& tensor_of(const tile::Operand& o) const;
  IndexMaker& maker() { return block.indices(); }
  bool any_cached() const;
  // Whether a read's elements come from the scratchpad. The data tile of an im2col operand is that of its first read;
  // others read memory.
  bool cached(std::size_t read) const;
  std::size_t operand_of(std::size_t read) const { return operand_of_[read]; }
  // The first of the reads that are equal to it.
  std::size_t first_equal(std::size_t read) const;
  // The stage's body, its scalars numbered as the module's.
  std::vector<expr::Node> body() const;
  // The body's indices where the tile axes have these values.
  std::vector<Affine> indices_of_body(const std::vector<Affine>& axes);
  // The tile that an earlier stage of the kernel left of the operand; null where it comes from memory.
  const KeptTile* kept(std::size_t read) const { return place.kept_inputs[operand_of_[read]]; }
  // The registers in which the stage's threads hold the operand; null where they do not.
  const HeldTensor* held(std::size_t read) const {
    const std::optional<HeldTensor>& tensor = place.held_inputs[operand_of_[read]];
    return tensor ? &*tensor : nullptr;
  }
  // Steps whose tiles the scratchpad holds at a time.
  std::int64_t stages_held() const { return any_cached() ? p.stages_held() : 1; }
  std::int64_t stages_held(std::size_t operand) const { return any_cached() ? p.stages_held(operand) : 1; }

  // Values of all tile axes where the loops stand, within the block's tile and in all.
  std::vector<Affine> local_values(const std::vector<std::vector<AxisLoop>>& loops) const;
  std::vector<Affine> absolute_values(const std::vector<Affine>& local, const StepPosition& at) const;
  // Shape, pitch and stages of an operand's tile in the scratchpad; the buffer is still to be added.
  CachedTile shape_of_tile(std::size_t operand) const;
  // The spatial axis along which neighbours of an operand lie side by side, or -1.
  int neighbour_axis(const tile::Operand& o) const;
  // Adds what keeps a value of a reduced axis from going beyond the axis, or a part of it, where it may.
  void add_ends(std::size_t axis, const Affine& value, std::vector<Guard>& inside) const;
  // Threads of the block beyond the stage's do the same as those at its beginning. What must happen once is done by the
  // stage's own threads, and of those that share a reduction by the first.
  void add_own_thread(std::vector<Guard>& when) const {
    if (place.threads > p.threads()) when.push_back({block.indices().thread(), p.threads()});
  }
  void add_first_sharer(std::vector<Guard>& when) const {
    add_own_thread(when);
    if (p.sharers() > 1) when.push_back({indices.sharer(), 1});
  }
  // Loops over one step's chunks of iterations around `body`, of which a statement computes so many iterations.
  Body in_chunk_loops(Body body, std::int64_t iterations) const;
  // Refuses accesses of `vector` elements that do not all begin at a multiple of that.
  void check_aligned(const std::string& name, const Located& where, std::int64_t vector);

  const tile::StageProgram& p;
  const arch::ArchSpec& chip;
  BlockBuilder& block;
  const StagePlace place;
  TileIndices indices;
  Addresses addresses;
  const tile::StagingLayout staging;
  std::vector<int> scalars;       // by scalar of the stage: of the module
  std::vector<int> memory;        // by operand, the output last: buffer
  std::vector<CachedTile> tiles;  // by operand
  int mbarriers = -1;             // the first one of its own, where TMA loads its tiles (transfer/detail/tma.h)
  ResultRegisters results;
  std::int64_t crew = 0;  // of persistent blocks, the one whose role is put together (pipeline/tile_rounds.h)

 private:
  std::vector<std::size_t> operand_of_;  // by read
};

}  // namespace tilescope::lower

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a family of micro-kernels says of a block's statements: how threads or lanes read the cached tiles of a step,
// multiply them, and hold the results. One class an entry: fma.h, mma.h, wgmma.h, tcgen05.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "lower/simt/detail/stage.h"

namespace tilescope::lower {

class MicroKernelLowering {
 public:
  explicit MicroKernelLowering(Stage& stage) : s_(stage) {}
  virtual ~MicroKernelLowering() = default;
  MicroKernelLowering(const MicroKernelLowering&) = delete;
  MicroKernelLowering& operator=(const MicroKernelLowering&) = delete;

  // Adds the registers that operands are read into. Tiles and results have theirs already.
  virtual void add_registers() = 0;

  // The products of a step whose tiles are in `ring_stage`: what starts them, where they run by themselves while the
  // block goes on, and what computes or awaits them.
  virtual Body start(const Affine& step, const Affine& ring_stage);
  virtual Body finish(const Affine& step, const Affine& ring_stage) = 0;
  // What says that products of the step have read its tiles, for a phase of an mbarrier of all blocks of the cluster,
  // or of the block; and how many arrivals that is of a block.
  virtual Body release(int mbarrier, const Affine& step, bool cluster);
  virtual std::int64_t releases() const;
  // Whether a warp of its own issues the products, and threads have no sums before they collect them: what that warp
  // does behind all steps, and what these do first.
  virtual bool issues_apart() const { return false; }
  virtual Body commit() { return {}; }
  virtual Body collect() { return {}; }
  // What a thread does before the barrier behind which products read what it copied.
  virtual Body before_reads() const { return {}; }

  // The element of a cached tile's stage at coordinates of the tile. Here: row by row, as padding and rotation say.
  virtual Affine in_ring_stage(std::size_t operand, const std::vector<Affine>& at, const Affine& ring_stage);
  // Whether products take in what a cached tile holds beyond the end of a reduction: zeros have to stand there.
  virtual bool reads_beyond_end() const { return false; }

  // The tile axis along which a thread's results follow each other in registers, or -1.
  virtual int fastest_result_axis() const { return s_.neighbour_axis(s_.space().output); }
  // By tile axis the loops over a thread's results, `vector` neighbours an iteration, and the register that they stand
  // at.
  virtual std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector);
  virtual Affine result_position(std::int64_t vector);
  // Adds to where the results of those who hold them together begin, by tile axis, what lies before this lane's.
  virtual void add_lane(std::vector<Affine>& local);

  // Along these axes alone: the loops over a thread's results, `vector` neighbours an iteration along the axis in which
  // they are stored side by side, and where they stand in registers that have one element for each such place.
  struct Places {
    std::vector<std::vector<AxisLoop>> by_axis;  // empty along other axes
    std::vector<AxisLoop> loops;                 // all of them
    Affine place;
  };
  Places places_along(const std::vector<std::size_t>& axes, std::int64_t vector);

 protected:
  Stage& s_;
};

std::unique_ptr<MicroKernelLowering> lowering_of_micro_kernel(Stage& stage);

}  // namespace tilescope::lower

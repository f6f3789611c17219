// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiply-adds of single threads, or whatever the stage computes of its reads: what a thread reads of its operands
// into registers, for one iteration of the reduction or for several at once, and the arithmetic on it.

#include <optional>
#include <vector>

#include "lower/simt/microkernel/detail/lowering.h"

namespace tilescope::lower {

// How a fragment's elements are numbered: along all of a thread's elements of a tile axis, along those alone that
// vthreads stride apart, or along a run of a dimension of the data tile that the iterations of a register tile share,
// which is read as neighbours along `axis`.
struct Digit {
  enum Kind : std::uint8_t { kAxis, kFar, kRun } kind = kAxis;
  std::size_t axis = 0;
  std::size_t dim = 0;      // kRun
  std::int64_t extent = 1;  // elements
};

// A read's elements of one iteration of the reduction, or of a chunk of iterations, in registers.
struct Fragment {
  int buffer = -1;
  std::vector<Digit> digits;  // the last one fastest
  bool side_by_side = false;  // elements along the last digit lie side by side also where they are read
  bool of_chunk = false;      // read before the loop over a chunk's iterations
};

class FmaLowering final : public MicroKernelLowering {
 public:
  using MicroKernelLowering::MicroKernelLowering;

  void add_registers() override;
  Body finish(const Affine& step, const Affine& ring_stage) override;

 private:
  // Rows of a cached tile that run along the innermost reduced axis are read for several iterations at once: cuts the
  // loop over it into as many as the widest read of any operand takes and registers hold.
  void cut_points();
  std::int64_t points_at_once(std::size_t read, std::size_t axis) const;
  std::int64_t fragment_elements(std::size_t read) const;  // of one iteration
  bool tiles_reduction() const;
  bool in_registers(std::size_t read) const;
  std::vector<Digit> digits_of_reduction_tile(const tile::Operand& o) const;
  Fragment make_fragment(std::size_t read);

  // Loops over a digit's elements, `vector` neighbours an iteration, and where they stand.
  std::vector<AxisLoop> loops_over(const Digit& digit, std::int64_t vector);
  // A fragment's loops, `vector` neighbours along its last digit an iteration: which element, from where.
  struct FragmentRead {
    std::vector<AxisLoop> loops;
    Affine place;
    Located from;
    std::optional<Gather> gather = {};
    bool together = true;  // neighbours of one access are all inside the array, or none
  };
  FragmentRead read_of_fragment(std::size_t read, std::int64_t vector, const StepPosition& at,
                                const Affine& ring_stage);
  // The widest access that is aligned wherever the thread stands, and that no edge cuts.
  std::int64_t widest_read(std::size_t read, const StepPosition& at, const Affine& ring_stage);
  Statement fragment(std::size_t read, const StepPosition& at, const Affine& ring_stage,
                     const std::vector<Guard>& known_inside);
  // Those of a chunk or of an iteration. Guards that hold already where the fragments are read are left out.
  Body fragments(bool of_chunk, const StepPosition& at, const Affine& ring_stage,
                 const std::vector<Guard>& known_inside);

  // What keeps the last step of an axis, or of a part of it, from going beyond its end.
  std::vector<Guard> inside_reduction(const StepPosition& at);
  // The element of its fragment that the arithmetic uses where the loops over iterations stand.
  Affine place_of_point(std::size_t read);
  Statement arithmetic(const StepPosition& at, const std::vector<Guard>& inside);

  std::vector<std::int64_t> at_once_;  // by read: iterations of the innermost reduced axis in one access
  std::vector<Fragment> fragments_;    // by read; equal reads share one
};

}  // namespace tilescope::lower

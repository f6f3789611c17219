// SPDX-License-Identifier: Apache-2.0
#pragma once
// A matrix instruction's fragments in the tile of the lanes that execute it together: loops over them, where a fragment
// lies in the cached tile, and where a lane's results are, as the instruction's maps say.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lower/simt/microkernel/detail/lowering.h"
#include "lower/simt/microkernel/matrix_instruction.h"
#include "tile/microkernel/mma.h"

namespace tilescope::lower {

// An operand of a matrix instruction: the rows of the first one, the columns of the second.
struct MatrixSide {
  std::size_t operand = 0, axis = 0;
  std::int64_t unit = 1;  // of a fragment along the axis
};

// Along a side's axis, and along k.
struct MatrixPlace {
  Affine side, deep;
  Affine& along(arch::FragmentAxis axis) { return axis == arch::FragmentAxis::kDepth ? deep : side; }
};

class MatrixTile {
 public:
  explicit MatrixTile(Stage& stage) : s_(stage) {}

  const tile::MatrixUnit& unit() const { return *tile::holding_unit_of(s_.p.micro_kernel); }
  // Multiply-adds of one fragment.
  std::int64_t iterations() const { return unit().m * unit().n * unit().k; }
  // The instruction as the kernel names it.
  MatrixInstruction instruction() const { return matrix_instruction(*unit().spec, s_.p.lanes()); }

  MatrixSide side(std::size_t operand) const;
  // Extent of a fragment along a spatial axis.
  std::int64_t extent_of_fragment(std::size_t axis) const;
  // The axes along which an operand's fragments lie, its own side's last.
  std::vector<std::size_t> axes_of(const MatrixSide& side) const;
  // Loops over a tile's fragments along an axis, `together` an iteration; positions count fragments.
  std::vector<AxisLoop> loops(std::size_t axis, std::int64_t together);
  // Those over all axes, where `together` fragments along `side` go at a time.
  std::vector<AxisLoop> all_loops(const std::vector<std::size_t>& axes, std::size_t side, std::int64_t together);
  // Which fragment of those of the axes it is where the loops over `side` stand `together`.
  Affine number(const std::vector<std::size_t>& axes, std::size_t side, std::int64_t together);
  // Coordinates in an operand's data tile of the element that is so far, along the side's axis and along k, from where
  // the fragments begin at which the loops stand.
  std::vector<Affine> in_data_tile(const MatrixSide& side, std::int64_t together, const MatrixPlace& place,
                                   const StepPosition& at);

  // The same in an operand's tile that an earlier stage of the kernel left: its offset there.
  Affine in_kept_tile(const MatrixSide& side, std::int64_t together, const MatrixPlace& place, const StepPosition& at);

  // One of `count` values of the lanes, of which each is that of `faster` neighbours.
  Affine lane_digit(std::int64_t faster, std::int64_t count);
  MatrixPlace lane_place(const std::vector<tile::FragmentDigit>& digits);
  // The loop of that name and extent, made once.
  int loop(const std::string& name, std::int64_t extent);

  // Of a fragment, that a lane holds.
  std::int64_t results() const { return unit().m * unit().n / unit().lanes; }
  // The lane's first result of the fragments at which the loops stand, `together` along the columns.
  Affine first_result(std::int64_t together);
  // See MicroKernelLowering.
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector);
  Affine result_position(std::int64_t vector);
  void add_lane(std::vector<Affine>& local);

 private:
  // A lane's results in a fragment, `vector` neighbours an iteration: a loop for each digit of their number.
  std::vector<tile::FragmentDigit> result_digits(std::int64_t vector) const;
  int result_loop(const tile::FragmentDigit& digit);

  // Values of all tile axes in the block's tile, where the loops of the side stand.
  std::vector<Affine> local_values(const MatrixSide& side, std::int64_t together, const MatrixPlace& place);

  Stage& s_;
  std::map<std::pair<std::string, std::int64_t>, int> loops_;  // by name and extent
};

// What every entry says whose lanes hold results as an instruction's map has them.
class MatrixLowering : public MicroKernelLowering {
 public:
  explicit MatrixLowering(Stage& stage) : MicroKernelLowering(stage), tile_(stage) {}

  bool reads_beyond_end() const override { return true; }
  int fastest_result_axis() const override { return static_cast<int>(tile_.unit().columns); }
  std::vector<std::vector<AxisLoop>> result_loops(std::int64_t vector) override { return tile_.result_loops(vector); }
  Affine result_position(std::int64_t vector) override { return tile_.result_position(vector); }
  void add_lane(std::vector<Affine>& local) override { tile_.add_lane(local); }

 protected:
  // Whether an earlier stage's results, in registers, are the operand's fragments; and where those of a chunk are.
  bool held(std::size_t operand) const { return s_.place.held_inputs[operand].has_value(); }
  Access held_fragment(std::size_t operand);
  // Elements of a fragment of an operand that a lane holds.
  std::int64_t elements_of(std::size_t operand) const;
  // Registers have no addresses: which of them a fragment is must be known, so that loops over chunks are unrolled.
  Body in_unrolled_chunk_loops(Body body) const { return nest(s_.indices.chunk_loops(), std::move(body), true); }

  MatrixTile tile_;
};

// Of the numbers below a power of two.
std::size_t bits_of(std::int64_t count);

}  // namespace tilescope::lower

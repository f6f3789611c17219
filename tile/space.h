// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stage's loops and operands as tiles use them. Loops may be collapsed (`n.y.x`, the last one fastest), and every
// tensor of the stage has a data tile whose extents follow from the loop extents by the access functions (ROLLER
// OSDI'22, section 3.1: an access a*s + b*d over tile extents Ta, Tb covers (Ta-1)*s + (Tb-1)*d + 1).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fixed_vector.h"
#include "base/units.h"
#include "expr/expression.h"

namespace tilescope::tile {

inline constexpr std::size_t kMaxAxes = expr::kMaxAxes;
inline constexpr std::size_t kMaxOperands = expr::kMaxReads + 1;  // inputs and the output of one stage

// One number per tile axis: spatial axes first, then reduced ones.
using Extents = base::FixedVector<std::int64_t, kMaxAxes>;
// One number per dimension of a data tile, innermost last. An im2col operand has a dimension per axis that it uses.
using TileShape = base::FixedVector<std::int64_t, kMaxAxes>;
// Which loops are collapsed: each group lists axes of the stage, outermost first; groups are in tile order.
using AxisCollapse = std::vector<std::vector<int>>;

struct TileAxis {
  std::string name;       // "m"; of a collapsed axis "n.y.x"
  std::vector<int> axes;  // of the stage
  std::int64_t extent = 1;
  bool reduction = false;

  bool operator==(const TileAxis&) const = default;
};

// One dimension of a data tile.
struct TileDim {
  base::FixedVector<expr::Term, kMaxAxes> terms;  // over tile axes
  std::int64_t low = 0;                           // least constant offset of the reads it serves
  std::int64_t spread = 0;                        // the greatest offset minus the least
  std::int64_t extent = 1;    // of the tensor's dimension, or of the tile axis where the operand is im2col
  std::size_t first_dim = 0;  // the first tensor dimension that it joins; unused for im2col
  bool whole = false;         // a read that is not affine takes the full extent
  // Of a scale's dimension that reads axis/divisor: so many iterations of the axis share an element. 1 of any other.
  std::int64_t shared_by = 1;
  // Rows of the tensor that each index of a table selects, and along which this dimension goes on: `E[T[i/16],i%16]`
  // has one dimension along i, and 16 rows of each page. 1 of any other dimension.
  std::int64_t page = 1;
};

// One loop of a collapsed axis. It contributes index / period % size * stride elements of the tensor.
struct CollapsedStep {
  std::int64_t period = 1;  // product of the faster loops of the group
  std::int64_t size = 1;    // of this loop
  std::int64_t stride = 0;  // elements of the tensor per index
  bool goes_on = false;     // the loop has one index, but the last tile may extend past it, where the tensor does too
};

// The dimension of a tensor whose coordinate a table gives. The operand's data tile has the table's dimensions in its
// place, as if the stage read a tensor that holds, for each element of the table, what that element selects.
struct GatheredDim {
  std::size_t table = 0;                 // operand
  int read = 0;                          // of the table, by the stage
  std::size_t dim = 0;                   // of the tensor
  std::int64_t extent = 1;               // of that dimension
  std::int64_t stride = 1;               // elements from one index to the next
  std::size_t table_dims = 0;            // number of the table's dimensions, from first_dim `dim` on
  std::int64_t entries = 1;              // elements of the table
  expr::IndexDistribution indices = {};  // of their values

  // Whether a dimension of the data tile is one of the table's.
  bool gives(const TileDim& d) const { return d.first_dim >= dim && d.first_dim < dim + table_dims; }
};

// One tensor of the stage, with the reads that share its data tile. A tensor whose dimensions mix a collapsed loop with
// others is `im2col`: its data tile has one dimension per tile axis, as implicit GEMM caches its patches.
struct Operand {
  int tensor = 0;
  std::string name;  // the tensor's name; A#2 where the stage reads A in a second pattern
  base::Bytes element;
  std::vector<int> reads;  // reads of the stage; empty for the output
  bool im2col = false;
  // Of a read by a table, the only one of its operand. `first_dim` counts the dimensions with the table's in place;
  // steps have the tensor's strides, and along the table's dimensions those of one index after the other.
  std::optional<GatheredDim> gathered;
  base::FixedVector<TileDim, kMaxAxes> dims;
  std::int64_t elements = 1;  // of the whole tensor
  // For im2col, the greatest common divisor of the element at which the loops begin and of the end of each dimension
  // that they leave; 0 where they begin at 0 and leave none. Every vector divides it.
  std::int64_t alignment = 0;
  // Per dimension: how its index (for im2col, that of the tile axis) moves through the tensor, fastest loop first.
  std::vector<std::vector<CollapsedStep>> steps;

  bool uses(int tile_axis) const { return dims_of(tile_axis) > 0; }
  // Number of dimensions that the axis moves: two for I[i,i].
  int dims_of(int tile_axis) const;
  // The axis along which neighbours are contiguous in memory: it moves the last dimension by one element, and no other
  // dimension. -1 where there is none.
  int contiguous_axis() const;
};

// A stage, its collapsed axes and its operands. Immutable once made, and shared by all programs of the stage.
struct TileSpace {
  expr::Expression expression;  // of one stage
  std::vector<TileAxis> axes;   // spatial first
  std::size_t spatial = 0;      // number of spatial axes
  // Those that the body reads, `values` in number; then scales, or tables that give coordinates alone. Programs never
  // cache the latter two.
  std::vector<Operand> inputs;
  std::size_t values = 0;
  Operand output;
  std::int64_t reduced = 1;              // product of the reduced extents
  double macs_per_iteration = 0;         // multiply-accumulates per iteration: 0 or 1
  double other_flops_per_iteration = 0;  // further arithmetic of the body, per iteration
  bool gathers = false;                  // whether a coordinate is read from a table
  // Of a sum of products of two factors that further factors scale, each of which many iterations share, as in `A[m,k]
  // * SA[m,k/128] * B[n,k]`: iterations of the only reduced axis with the same scales. 0 of any other stage.
  std::int64_t scale_depth = 0;
  double special_per_iteration = 0;  // divisions and calls of exp, sqrt, ... per iteration

  const expr::Stage& stage() const { return expression.stages.front(); }
  std::size_t scales() const { return scale_depth > 0 ? inputs.size() - values : 0; }
  bool is_scale(std::size_t operand) const { return operand >= values && operand < values + scales(); }
  std::size_t operand_count() const { return inputs.size() + 1; }
  // Whether a coordinate is read from the operand.
  bool is_table(std::size_t operand) const {
    for (const Operand& o : inputs)
      if (o.gathered && o.gathered->table == operand) return true;
    return false;
  }
  // Whether the operand's elements are found by a table, or give coordinates: both are read from memory.
  bool by_table(std::size_t operand) const {
    return operand < inputs.size() && (inputs[operand].gathered || is_table(operand));
  }
  // The name of an operand's tensor; whether the stage reads the tensor of that name.
  const std::string& tensor_name(const Operand& o) const {
    return expression.tensors[static_cast<std::size_t>(o.tensor)].name;
  }
  bool reads(std::string_view tensor) const {
    for (const Operand& o : inputs)
      if (tensor_name(o) == tensor) return true;
    return false;
  }
  // Inputs in order, then the output.
  const Operand& operand(std::size_t i) const { return i < inputs.size() ? inputs[i] : output; }

  // All other members follow from the expression and its axes.
  bool operator==(const TileSpace& o) const { return expression == o.expression && axes == o.axes; }
};

// Every loop is an axis of its own.
AxisCollapse no_collapse(const expr::Stage& stage);

// Collapses neighbouring loops of one kind that are neighbours, contiguous in memory, in every tensor that has either.
// This costs nothing, and turns 17x11x3 elements into 561 (ROLLER OSDI'22, section 3.3).
AxisCollapse contiguous_collapse(const expr::Expression& one_stage);

// The collapse of implicit GEMM for a sum of products: loops fall into classes by the operands that they index, and
// each class is collapsed into one loop. Returns nullopt where the body is no product of two reads or the classes are
// single loops already.
std::optional<AxisCollapse> contraction_collapse(const expr::Expression& one_stage);

// The collapse that names such as {"f", "n.y.x", "c.r.s"} specify, or nullopt where they are not exactly the stage's
// loops.
std::optional<AxisCollapse> collapse_of_names(const expr::Stage& stage, const std::vector<std::string_view>& names);

// The space of a single-stage expression. Spatial groups come first; a group does not mix the kinds (checked).
std::shared_ptr<const TileSpace> make_space(const expr::Expression& one_stage, const AxisCollapse& collapse);

// A stage's access to its output as a read over its spatial axes, so that inputs and output are treated alike.
expr::Read output_read(const expr::Stage& stage);

// Extents of an operand's data tile, before clipping to the tensor.
TileShape data_tile(const Operand& operand, const Extents& tile);

// Number of elements of a data tile whose innermost dimension is extended by `padding` elements.
std::int64_t data_tile_elements(const Operand& operand, const Extents& tile, std::int64_t padding = 0);

// The same without padding, counting only elements inside the tensor's dimensions: those that have to be moved.
std::int64_t data_tile_elements_inside(const Operand& operand, const Extents& tile);

// The most elements that the tile's iterations read: eight for I[x*8+s] over four x and two s, where the data tile has
// 26.
double touched_elements(const Operand& operand, const Extents& tile);

// Whether reads of iterations along a reduced axis overlap reads of neighbours along a spatial one (`x*2+s`).
bool taps_overlap(const TileSpace& space, std::size_t reduced);

// The reduced tile axis with the most iterations, or nullopt where the stage reduces none.
std::optional<std::size_t> longest_reduced_axis(const TileSpace& space);

// The layout of a data tile in memory: `count` runs of `length` elements, `stride` apart.
struct Runs {
  std::int64_t count = 1;
  std::int64_t length = 1;
  std::int64_t stride = 1;
};
Runs runs_of(const Operand& operand, const Extents& tile);

// Offset within the tensor, in elements, of an index of one dimension of the data tile.
std::int64_t memory_offset(const Operand& operand, std::size_t dim, std::int64_t index);

}  // namespace tilescope::tile

// SPDX-License-Identifier: Apache-2.0
// From a stage and a way to collapse loops to its tile space: the operands, their data tiles and how these lie in
// memory.

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/integer.h"
#include "expr/extent.h"
#include "expr/parse.h"
#include "expr/tables.h"
#include "tile/detail/scales.h"
#include "tile/space.h"

namespace tilescope::tile {
namespace {

using expr::Coordinate;
using expr::Expression;
using expr::Node;
using expr::NodeKind;
using expr::Read;
using expr::Stage;
using expr::Tensor;
using expr::Term;

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Reads of one tensor that differ in constant offsets alone share a data tile.
bool same_pattern(const Read& a, const Read& b) {
  if (a.tensor != b.tensor) return false;
  for (std::size_t d = 0; d < a.at.size(); ++d) {
    const Coordinate &x = a.at[d], &y = b.at[d];
    if (!(x.terms == y.terms) || x.divisor != y.divisor || x.modulus != y.modulus || x.table != y.table) return false;
  }
  return true;
}

// Reads of one pattern share a data tile where neighbouring offsets differ by no more than this in any dimension, as
// those of a stencil do. The tile of reads farther apart would consist of what lies between them.
constexpr std::int64_t kMaxGap = 8;

bool are_near(const Read& a, const Read& b) {
  for (std::size_t d = 0; d < a.at.size(); ++d)
    if (std::abs(a.at[d].offset - b.at[d].offset) > kMaxGap) return false;
  return true;
}

// The reads after `first` that share its data tile, and itself, in order.
std::vector<int> reads_with(const Stage& stage, std::size_t first) {
  std::vector<bool> in(stage.reads.size(), false);
  in[first] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t r = 0; r < in.size(); ++r)
      for (std::size_t q = 0; q < in.size() && !in[r]; ++q)
        if (in[q] && same_pattern(stage.reads[q], stage.reads[r]) && are_near(stage.reads[q], stage.reads[r]))
          in[r] = grew = true;
  }
  std::vector<int> out;
  for (std::size_t r = 0; r < in.size(); ++r)
    if (in[r]) out.push_back(static_cast<int>(r));
  return out;
}

// Elements of the tensor that one step of a stage's axis moves a read by.
std::int64_t stride_of(const Read& read, const std::vector<std::int64_t>& strides, int axis) {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < read.at.size(); ++d)
    for (const Term& t : read.at[d].terms)
      if (t.axis == axis) sum += t.coefficient * strides[d];
  return sum;
}

// Whether a read is outside the tensor wherever the loop is beyond its one index.
bool ends_with_tensor(const Read& read, const std::vector<std::int64_t>& shape, int axis) {
  for (std::size_t d = 0; d < read.at.size(); ++d) {
    const Coordinate& c = read.at[d];
    const bool alone = c.affine() && c.terms.size() == 1 && c.terms[0].axis == axis && c.terms[0].coefficient > 0;
    if (alone && c.terms[0].coefficient + c.offset >= shape[d]) return true;
  }
  return false;
}

std::vector<CollapsedStep> steps_of_group(const TileAxis& group, const Stage& stage, const Read& read,
                                          const std::vector<std::int64_t>& shape,
                                          const std::vector<std::int64_t>& strides) {
  std::vector<CollapsedStep> steps;
  std::int64_t period = 1;
  for (auto a = group.axes.rbegin(); a != group.axes.rend(); ++a) {
    const std::int64_t size = stage.axes[static_cast<std::size_t>(*a)].size;
    const std::int64_t stride = stride_of(read, strides, *a);
    // A loop that goes on where the faster one ends is the same run of memory.
    if (!steps.empty() && stride == steps.back().stride * steps.back().size)
      steps.back().size *= size;
    else
      steps.push_back({period, size, stride,
                       size == 1 && *a == group.axes.front() && stride != 0 && !ends_with_tensor(read, shape, *a)});
    period *= size;
  }
  return steps;
}

// One coordinate of a read over tile axes: a tensor dimension, or several neighbours that a collapsed loop runs through
// whole.
struct TileCoordinate {
  base::FixedVector<Term, kMaxAxes> terms;
  std::size_t first_dim = 0;  // of the tensor
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  bool affine = true;
  std::int64_t page = 1;  // TileDim::page
};

class OperandMaker {
 public:
  OperandMaker(const Expression& e, const std::vector<TileAxis>& axes) : e_(e), axes_(axes) {
    group_of_.assign(e.stages.front().axes.size(), 0);
    for (std::size_t g = 0; g < axes.size(); ++g)
      for (const int a : axes[g].axes) group_of_[static_cast<std::size_t>(a)] = g;
  }

  Operand make(const Read& first, std::vector<int> reads) const {
    return make(first, std::move(reads), row_major_strides(e_.tensors[static_cast<std::size_t>(first.tensor)].shape));
  }

  // The same with other distances in memory. `gathered` is set in what is returned: none of its dimensions joins the
  // table's with others, but for the rows of a `page` (expr::page_rows).
  Operand make(const Read& first, std::vector<int> reads, const std::vector<std::int64_t>& strides,
               const std::optional<GatheredDim>& gathered = {}, std::int64_t page = 1) const {
    const Tensor& tensor = e_.tensors[static_cast<std::size_t>(first.tensor)];
    Operand o;
    o.gathered = gathered;
    o.tensor = first.tensor;
    o.name = tensor.name;
    o.element = base::size_of(tensor.dtype);
    o.elements = tensor.elements();
    o.reads = std::move(reads);
    if (const auto coordinates = tile_coordinates(first, tensor.shape, strides, gathered, page);
        coordinates && (!gathered || !joins_table(*coordinates, *gathered, first.at.size()))) {
      for (const TileCoordinate& c : *coordinates) add_plain_dim(c, first, o);
    } else {
      o.im2col = true;
      add_gathered_dims(first, tensor.shape, strides, o);
      const auto innermost = static_cast<std::size_t>(o.dims.back().terms.front().axis);
      o.alignment = alignment_of(first, tensor.shape, strides, axes_[innermost]);
    }
    return o;
  }

 private:
  // Whether a tile axis runs from a table's dimensions into others.
  static bool joins_table(const std::vector<TileCoordinate>& all, const GatheredDim& g, std::size_t rank) {
    for (std::size_t c = 0; c < all.size(); ++c) {
      if (all[c].page > 1) continue;
      const std::size_t first = all[c].first_dim, end = c + 1 < all.size() ? all[c + 1].first_dim : rank;
      for (const std::size_t edge : {g.dim, g.dim + g.table_dims})
        if (first < edge && edge < end) return true;
    }
    return false;
  }

  const Stage& stage() const { return e_.stages.front(); }
  std::size_t group(int axis) const { return group_of_[static_cast<std::size_t>(axis)]; }
  const std::vector<int>& collapsed_with(int axis) const { return axes_[group(axis)].axes; }

  // The read over tile axes, or nothing where a collapsed loop is not a run of whole neighbouring dimensions.
  std::optional<std::vector<TileCoordinate>> tile_coordinates(const Read& read, const std::vector<std::int64_t>& shape,
                                                              const std::vector<std::int64_t>& strides,
                                                              const std::optional<GatheredDim>& gathered,
                                                              std::int64_t page) const {
    std::vector<TileCoordinate> out;
    for (std::size_t d = 0; d < read.at.size();) {
      TileCoordinate c{{}, d, shape[d], strides[d], read.at[d].affine()};
      for (const Term& t : read.at[d].terms) c.terms.push_back({static_cast<int>(group(t.axis)), t.coefficient});
      const bool alone = std::all_of(read.at[d].terms.begin(), read.at[d].terms.end(),
                                     [&](const Term& t) { return collapsed_with(t.axis).size() == 1; });
      if (gathered && page > 1 && d + 1 == gathered->dim + gathered->table_dims && alone) {
        c.page = page;
        c.extent *= c.page;
        c.stride = strides[d + 1];
        c.affine = true;
        out.push_back(c);
        d += 2;
        continue;
      }
      const std::size_t joined = dims_run_through(read, d, shape);
      if (joined == 0) return std::nullopt;
      for (std::size_t j = 1; j < joined; ++j) {
        c.extent *= shape[d + j];
        c.stride = strides[d + j];
      }
      out.push_back(c);
      d += joined;
    }
    return out;
  }

  // How many dimensions from `d` on one tile axis runs through: 1 for loops that are not collapsed, 0 where a collapsed
  // loop does not fit.
  std::size_t dims_run_through(const Read& read, std::size_t d, const std::vector<std::int64_t>& shape) const {
    const Coordinate& c = read.at[d];
    const bool any_collapsed =
        std::any_of(c.terms.begin(), c.terms.end(), [&](const Term& t) { return collapsed_with(t.axis).size() > 1; });
    if (!any_collapsed) return 1;
    const std::vector<int>& loops = collapsed_with(c.terms[0].axis);
    if (d + loops.size() > read.at.size()) return 0;
    for (std::size_t j = 0; j < loops.size(); ++j) {
      const bool whole = j == 0 || shape[d + j] == stage().axes[static_cast<std::size_t>(loops[j])].size;
      if (read.at[d + j].bare_axis() != loops[j] || !whole) return 0;
    }
    return loops.size();
  }

  void add_plain_dim(const TileCoordinate& c, const Read& first, Operand& o) const {
    TileDim dim;
    dim.terms = c.terms;
    dim.whole = !c.affine;
    dim.page = c.page;
    dim.extent = c.extent;
    dim.first_dim = c.first_dim;
    dim.low = first.at[c.first_dim].offset;
    std::int64_t high = dim.low;
    for (const int r : o.reads) {
      const std::int64_t offset = stage().reads[static_cast<std::size_t>(r)].at[c.first_dim].offset;
      dim.low = std::min(dim.low, offset);
      high = std::max(high, offset);
    }
    dim.spread = high - dim.low;
    o.dims.push_back(dim);
    o.steps.push_back({{1, c.extent, c.stride}});
  }

  // Of a gathered read, as Operand says. 1 where a coordinate is not affine, and where a dimension is left by a loop
  // that moves another one too, so that it ends elsewhere in each run.
  std::int64_t alignment_of(const Read& read, const std::vector<std::int64_t>& shape,
                            const std::vector<std::int64_t>& strides, const TileAxis& innermost) const {
    std::vector<std::int64_t> sizes;
    for (const expr::Axis& axis : stage().axes) sizes.push_back(axis.size);
    std::vector<int> moved(sizes.size(), 0);  // coordinates, by each loop
    std::int64_t first = 0, ends = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Coordinate& c = read.at[d];
      if (!c.affine()) return 1;
      first += c.offset * strides[d];
      const auto span = expr::span_of(c, sizes);
      bool leaves = !span || span->low < 0 || span->high >= shape[d];
      for (const Term& t : c.terms) {
        ++moved[static_cast<std::size_t>(t.axis)];
        leaves = leaves || t.axis == innermost.axes.front();  // the last tile goes on behind its end
      }
      if (leaves) ends = std::gcd(ends, shape[d] * strides[d]);
    }
    if (ends != 0 && std::any_of(moved.begin(), moved.end(), [](int n) { return n > 1; })) return 1;
    return std::gcd(first, ends);
  }

  // One dimension per tile axis, in the order of the tensor's coordinates; the axis that runs through the innermost
  // coordinate is innermost, spatial before reduced.
  void add_gathered_dims(const Read& read, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides, Operand& o) const {
    std::vector<std::size_t> order;
    for (const Coordinate& c : read.at)
      for (const Term& t : c.terms)
        if (std::find(order.begin(), order.end(), group(t.axis)) == order.end()) order.push_back(group(t.axis));
    if (!read.at.back().terms.empty()) {
      std::size_t innermost = axes_.size();
      for (const Term& t : read.at.back().terms) innermost = std::min(innermost, group(t.axis));
      std::erase(order, innermost);
      order.push_back(innermost);
    }
    for (const std::size_t g : order) {
      TileDim dim;
      dim.terms.push_back({static_cast<int>(g), 1});
      dim.extent = axes_[g].extent;
      o.dims.push_back(dim);
      o.steps.push_back(steps_of_group(axes_[g], stage(), read, shape, strides));
    }
  }

  const Expression& e_;
  const std::vector<TileAxis>& axes_;
  std::vector<std::size_t> group_of_;
};

// The stage as if each read by a table were one of a tensor of its own that has the table's dimensions in place of the
// gathered one, and a last one of one element where that is the last.
Expression with_gathered_tensors(Expression e) {
  Stage& stage = e.stages.front();
  for (Read& r : stage.reads) {
    const auto d = r.gathered_dim();
    if (!d) continue;
    const Read& table = stage.reads[static_cast<std::size_t>(r.at[*d].table)];
    const std::vector<std::int64_t>& rows = e.tensors[static_cast<std::size_t>(table.tensor)].shape;
    Tensor t = e.tensors[static_cast<std::size_t>(r.tensor)];
    Read at{static_cast<int>(e.tensors.size()), r.at};
    const auto place = static_cast<std::ptrdiff_t>(*d);
    t.shape.erase(t.shape.begin() + place);
    t.shape.insert(t.shape.begin() + place, rows.begin(), rows.end());
    at.at.erase(at.at.begin() + place);
    at.at.insert(at.at.begin() + place, table.at.begin(), table.at.end());
    if (*d + 1 == r.at.size()) {
      t.shape.push_back(1);
      at.at.emplace_back();
    }
    e.tensors.push_back(std::move(t));
    r = std::move(at);
  }
  return e;
}

// Where the elements of such a tensor lie in the one that is gathered from, along each dimension.
std::vector<std::int64_t> gathered_strides(const std::vector<std::int64_t>& shape,
                                           const std::vector<std::int64_t>& table, std::size_t dim) {
  const std::vector<std::int64_t> own = row_major_strides(shape), rows = row_major_strides(table);
  std::vector<std::int64_t> out(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(dim));
  for (const std::int64_t s : rows) out.push_back(s * own[dim]);
  out.insert(out.end(), own.begin() + static_cast<std::ptrdiff_t>(dim) + 1, own.end());
  if (dim + 1 == shape.size()) out.push_back(1);
  return out;
}

// A tensor that is read in several patterns is several operands: A, A#2, A#3.
void name_apart(std::vector<Operand>& inputs) {
  const auto same =
      std::count_if(inputs.begin(), inputs.end(), [&](const Operand& o) { return o.tensor == inputs.back().tensor; });
  if (same > 1) inputs.back().name += "#" + std::to_string(same);
}

// The inputs of a stage that gathers.
void add_gathering_inputs(const Expression& e, TileSpace& s) {
  const Stage& stage = e.stages.front();
  const Expression apart = with_gathered_tensors(e);
  const Stage& reading = apart.stages.front();
  const OperandMaker maker(apart, s.axes);
  std::vector<bool> in_body(stage.reads.size(), false);
  for (const Node& n : stage.body)
    if (n.kind == NodeKind::kRead) in_body[static_cast<std::size_t>(n.index)] = true;
  std::vector<std::vector<int>> operands;  // the reads of each
  for (std::size_t r = 0; r < stage.reads.size(); ++r)
    if (std::vector<int> reads = reads_with(reading, r); reads.front() == static_cast<int>(r))
      operands.push_back(std::move(reads));
  const auto tables = std::stable_partition(operands.begin(), operands.end(), [&](const std::vector<int>& reads) {
    return std::any_of(reads.begin(), reads.end(), [&](int r) { return in_body[static_cast<std::size_t>(r)]; });
  });
  s.values = static_cast<std::size_t>(tables - operands.begin());
  std::vector<std::size_t> operand_of(stage.reads.size(), 0);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (const int r : operands[i]) operand_of[static_cast<std::size_t>(r)] = i;
  for (std::vector<int>& reads : operands) {
    const auto r = static_cast<std::size_t>(reads.front());
    const Read& read = stage.reads[r];
    const auto d = read.gathered_dim();
    if (!d) {
      s.inputs.push_back(maker.make(reading.reads[r], std::move(reads)));
    } else {
      const Tensor& tensor = e.tensors[static_cast<std::size_t>(read.tensor)];
      const int table = read.at[*d].table;
      const Tensor& from = e.tensors[static_cast<std::size_t>(stage.reads[static_cast<std::size_t>(table)].tensor)];
      const std::vector<std::int64_t>& rows = from.shape;
      const GatheredDim gathered{operand_of[static_cast<std::size_t>(table)],
                                 table,
                                 *d,
                                 tensor.shape[*d],
                                 row_major_strides(tensor.shape)[*d],
                                 rows.size(),
                                 from.elements(),
                                 from.indices};
      s.inputs.push_back(maker.make(reading.reads[r], std::move(reads), gathered_strides(tensor.shape, rows, *d),
                                    gathered, expr::page_rows(e, stage, read)));
      s.inputs.back().tensor = read.tensor;
      s.inputs.back().elements = tensor.elements();
    }
    name_apart(s.inputs);
  }
}

// Multiply-adds of functions that no special unit computes: a sine of the argument less multiples of pi/2 in three
// parts, its polynomial and the choice of the quadrant (Cody and Waite 1980, chapter 8); a power of a logarithm and an
// exponential, the logarithm in two floats, for its error is multiplied by the exponent (chapter 7).
double polynomial(expr::Function f) {
  if (f == expr::Function::kSin || f == expr::Function::kCos) return 3 + 5 + 4;
  return f == expr::Function::kPow ? 30 + 10 + 4 : 0;
}

// What one iteration computes, by kind of instruction.
void count_work(const Stage& stage, TileSpace& s) {
  double multiplies = 0, others = 0;
  for (const Node& n : stage.body) {
    switch (n.kind) {
      case NodeKind::kMultiply:
        ++multiplies;
        break;
      case NodeKind::kAdd:
      case NodeKind::kSubtract:
      case NodeKind::kNegate:
        ++others;
        break;
      case NodeKind::kDivide:
        ++s.special_per_iteration;
        break;
      case NodeKind::kCall:
        if (expr::is_approximated(n.function))
          ++s.special_per_iteration;
        else
          ++others;
        others += polynomial(n.function);
        break;
      case NodeKind::kIndex:
        if (!expr::is_compared_index(stage.body, static_cast<std::size_t>(&n - stage.body.data())))
          ++s.special_per_iteration;  // converted
        break;
      default:
        break;
    }
  }
  if (stage.reducer == expr::Reducer::kSum && multiplies > 0) {
    s.macs_per_iteration = 1;
    --multiplies;
  } else if (stage.reducer != expr::Reducer::kNone) {
    ++others;
  }
  s.other_flops_per_iteration = multiplies + others;
}

}  // namespace

Read output_read(const Stage& stage) {
  Read read{stage.output, {}};
  for (std::size_t a = 0; a < stage.spatial_count(); ++a) read.at.push_back({.terms = {{static_cast<int>(a), 1}}});
  return read;
}

std::shared_ptr<const TileSpace> make_space(const Expression& one_stage, const AxisCollapse& collapse) {
  base::check(one_stage.stages.size() == 1, "a tile space is of one stage");
  const Stage& stage = one_stage.stages.front();
  auto s = std::make_shared<TileSpace>();
  s->expression = one_stage;
  for (const std::vector<int>& group : collapse) {
    TileAxis axis;
    for (const int a : group) {
      const expr::Axis& loop = stage.axes[static_cast<std::size_t>(a)];
      axis.name += (axis.name.empty() ? "" : ".") + loop.name;
      axis.extent *= loop.size;
      axis.reduction = loop.reduction;
      base::check(loop.reduction == stage.axes[static_cast<std::size_t>(group.front())].reduction,
                  "a fused loop is spatial or reduced, not both");
    }
    base::check(s->axes.empty() || !s->axes.back().reduction || axis.reduction, "spatial groups come first");
    axis.axes = group;
    if (!axis.reduction) ++s->spatial;
    if (axis.reduction) s->reduced *= axis.extent;
    s->axes.push_back(std::move(axis));
  }
  const OperandMaker maker(one_stage, s->axes);
  s->gathers = stage.gathers();
  if (s->gathers) add_gathering_inputs(one_stage, *s);
  for (std::size_t r = 0; r < stage.reads.size() && !s->gathers; ++r) {
    std::vector<int> reads = reads_with(stage, r);
    if (reads.front() != static_cast<int>(r)) continue;
    s->inputs.push_back(maker.make(stage.reads[r], std::move(reads)));
    name_apart(s->inputs);
  }
  base::check(s->operand_count() <= kMaxOperands, "a stage has at most kMaxOperands operands");
  if (!s->gathers) s->values = s->inputs.size();
  if (!s->gathers) find_scales(*s);
  s->output = maker.make(output_read(stage), {});
  count_work(stage, *s);
  return s;
}

}  // namespace tilescope::tile

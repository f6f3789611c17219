#include "tile/program.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/integer.h"
#include "tile/microkernel/rules.h"
#include "tile/transfer/results.h"

namespace tilescope::tile {

std::int64_t StageProgram::blocks_along(std::size_t spatial_axis) const {
  return base::ceil_div(space->axes[spatial_axis].extent, block[spatial_axis]);
}

std::optional<std::size_t> StageProgram::banded_axis() const {
  if (space->spatial < 2) return std::nullopt;
  return raster == Raster::kRow ? space->spatial - 2 : 1;
}

base::FixedVector<BlockDigit, kMaxAxes + 1> StageProgram::block_digits() const {
  base::FixedVector<BlockDigit, kMaxAxes + 1> out;
  const std::optional<std::size_t> banded = banded_axis();
  for (std::size_t i = 0; i < space->spatial; ++i) {
    const std::size_t a = raster == Raster::kRow ? i : space->spatial - 1 - i;
    const std::int64_t rows = a == banded ? band : 1;
    out.push_back({a, blocks_along(a) / rows, rows});
  }
  if (band > 1 && banded) out.push_back({*banded, band, 1});
  return out;
}

std::int64_t StageProgram::threads() const {
  std::int64_t n = lanes();
  for (const AxisMapping& m : mapping) n *= m.threads;
  return n;
}

std::int64_t StageProgram::blocks() const {
  std::int64_t n = 1;
  for (std::size_t a = 0; a < space->axes.size(); ++a) n *= a < space->spatial ? blocks_along(a) : split[a];
  return n;
}

std::int64_t StageProgram::steps() const {
  std::int64_t n = 1;
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a)
    n *= base::ceil_div(base::ceil_div(space->axes[a].extent, split[a]), block[a]);
  return n;
}

std::int64_t StageProgram::points_along(std::size_t axis) const {
  return std::min(block[axis], base::ceil_div(space->axes[axis].extent, split[axis]));
}

double StageProgram::points_per_step() const {
  double n = 1;
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) n *= static_cast<double>(points_along(a));
  return n;
}

double StageProgram::windows_per_step() const {
  double n = points_per_step();
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) n /= static_cast<double>(thread[a]);
  return n;
}

std::int64_t StageProgram::slots() const { return pipeline > 1 && steps() > 1 ? pipeline : 1; }

namespace {

// How many neighbours along an axis a thread takes at a time.
std::int64_t neighbours_along(const StageProgram& p, std::size_t axis) {
  return axis < p.space->spatial ? p.mapping[axis].serial : p.thread[axis];
}

}  // namespace

bool reads_window(const StageProgram& p, const Operand& o, std::size_t dim) {
  const TileDim& d = o.dims[dim];
  if (o.gathered || d.whole || d.terms.size() < 2) return false;
  bool beside = false, window = false;
  std::int64_t one_by_one = 1;
  for (const expr::Term& t : d.terms) {
    const auto axis = static_cast<std::size_t>(t.axis);
    if (t.coefficient < 1) return false;
    for (std::size_t other = 0; other < o.dims.size(); ++other)
      for (const expr::Term& u : o.dims[other].terms)
        if (other != dim && u.axis == t.axis) return false;
    beside = beside || t.coefficient == 1;
    window = window || (axis >= p.space->spatial && p.thread[axis] > 1);
    one_by_one *= neighbours_along(p, axis);
  }
  return beside && window && window_extent(p, d) <= one_by_one;
}

std::int64_t window_extent(const StageProgram& p, const TileDim& dim) {
  std::int64_t n = 1;
  for (const expr::Term& t : dim.terms)
    n += t.coefficient * (neighbours_along(p, static_cast<std::size_t>(t.axis)) - 1);
  return n;
}

double fragment_elements(const StageProgram& p, std::size_t operand) {
  const Operand& o = p.space->operand(operand);
  // Neighbours along an axis may share what they read; elements that virtual threads stride apart do not.
  Extents together = p.thread;
  double apart = 1;
  for (std::size_t a = 0; a < p.space->spatial; ++a) {
    together[a] = p.mapping[a].serial;
    if (o.uses(static_cast<int>(a))) apart *= static_cast<double>(p.mapping[a].virtual_threads);
  }
  return apart * touched_elements(o, together);
}

namespace {

// Whether the runs of all tiles begin at multiples of `v` elements of the tensor.
bool starts_align(const Operand& operand, const Extents& tile, std::int64_t v) {
  if (operand.dims.empty()) return true;
  const TileDim& last = operand.dims.back();
  if (!operand.gathered) {
    const bool fixed = last.whole || last.terms.empty();
    return fixed || tile[static_cast<std::size_t>(last.terms[0].axis)] * last.terms[0].coefficient % v == 0;
  }
  // The run ends with its loop; every other loop moves its beginning, a filter's taps by one element.
  const FusedStep& run = operand.steps.back().front();
  for (const std::vector<FusedStep>& steps : operand.steps)
    for (const FusedStep& s : steps)
      if (s.size > 1 && (&s == &run ? s.size : s.stride) % v != 0) return false;
  return true;
}

}  // namespace

std::int64_t widest_vector(const Operand& operand, const Extents& tile, std::int64_t padding, base::Bytes max_vector) {
  const Runs runs = runs_of(operand, tile);
  if (runs.stride != 1) return 1;
  const TileShape shape = data_tile(operand, tile);
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  // A tile's rows start where a multiple of the tile does, or where a whole row of the tensor does.
  const std::int64_t pitch = operand.dims.empty() ? 1 : operand.dims[operand.dims.size() - 1].extent;
  // Reads with offsets (a filter's taps) start anywhere.
  const bool shifted = !operand.dims.empty() && (operand.dims.back().low != 0 || operand.dims.back().terms.size() > 1);
  std::int64_t v = 1;
  while (!shifted && v * 2 * operand.element.n <= max_vector.n && row % (v * 2) == 0 && pitch % (v * 2) == 0 &&
         padding % (v * 2) == 0 && runs.length % (v * 2) == 0 && starts_align(operand, tile, v * 2))
    v *= 2;
  return v;
}

namespace {

// Whether the parts of a split reduction begin at multiples of `v` elements of the tensor's rows.
bool parts_align(const StageProgram& p, const Operand& o, std::int64_t v) {
  const auto begins = [&](const expr::Term& t) {
    const auto a = static_cast<std::size_t>(t.axis);
    const std::int64_t parts = p.split[a];
    return parts == 1 ? 0 : base::ceil_div(p.space->axes[a].extent, parts) * t.coefficient;
  };
  for (const TileDim& d : o.dims)
    for (const expr::Term& t : d.terms) {
      const bool in_row = o.gathered || &d == &o.dims.back();  // other dimensions are whole rows apart
      if (in_row && begins(t) % v != 0) return false;
      if (o.gathered && begins(t) != 0) return v == 1;
    }
  return true;
}

}  // namespace

std::int64_t default_vector(const StageProgram& p, std::size_t i, base::Bytes max_vector) {
  const Operand& o = p.space->operand(i);
  const OperandPlan& plan = p.operands[i];
  if (plan.box != 0) return 1;  // no thread copies it
  if (i == p.space->inputs.size() && plan.staged)
    return widest_vector(o, p.block, plan.padding, {max_vector.n * o.element.n / result_element(p).n});
  if (i == p.space->inputs.size())
    if (const auto neighbours = of_micro_kernel(p, [&](const auto& k) { return neighbouring_results(k, p); }))
      return *neighbours > 1 ? widest_vector(o, p.block, 0, {std::min(max_vector.n, *neighbours * o.element.n)}) : 1;
  if (plan.staged) {
    const std::int64_t shift = of_micro_kernel(p, [&](const auto& k) { return row_shift(k, plan); });
    std::int64_t v = widest_vector(o, p.block, shift, max_vector);
    while (v > 1 && !parts_align(p, o, v)) v /= 2;
    return v;
  }
  // Reads of neighbours begin one element apart.
  if (!o.dims.empty() && o.dims.back().spread != 0) return 1;
  std::int64_t serial = 1;
  if (!o.dims.empty() && o.dims.back().terms.size() == 1) {
    const auto axis = static_cast<std::size_t>(o.dims.back().terms[0].axis);
    if (axis < p.space->spatial) serial = p.mapping[axis].serial;
  }
  std::int64_t v = widest_vector(o, p.thread, 0, max_vector);
  while (v > 1 && (serial % v != 0 || !parts_align(p, o, v))) v /= 2;
  return v;
}

bool is_matrix_product(const TileSpace& space, std::size_t rows, std::size_t columns, std::size_t depth) {
  const bool product = space.multiply_adds_per_point == 1 && space.other_flops_per_point == 0 &&
                       space.special_per_point == 0 && space.inputs.size() == 2;
  const bool kinds = rows < space.spatial && columns < space.spatial && depth >= space.spatial;
  if (!product || !kinds || depth >= space.axes.size()) return false;
  const auto uses = [&](std::size_t input, std::size_t axis) {
    return space.inputs[input].uses(static_cast<int>(axis));
  };
  for (std::size_t i = 0; i < space.operand_count(); ++i)
    for (const TileDim& d : space.operand(i).dims)
      if (d.whole || d.spread != 0 || d.terms.size() > 1 || (d.terms.size() == 1 && d.terms[0].coefficient != 1))
        return false;
  return uses(0, rows) && !uses(1, rows) && !uses(0, columns) && uses(1, columns) && uses(0, depth) && uses(1, depth);
}

StageProgram make_stage_program(std::shared_ptr<const TileSpace> space,
                                const base::FixedVector<AxisMapping, kMaxAxes>& mapping, const Extents& step,
                                base::Bytes max_vector) {
  StageProgram p;
  p.mapping = mapping;
  p.block = step;
  p.thread.assign(space->axes.size(), 1);
  p.split.assign(space->axes.size(), 1);
  for (std::size_t a = 0; a < space->spatial; ++a) {
    p.block[a] = mapping[a].block_extent();
    p.thread[a] = mapping[a].thread_extent();
    p.thread_order.push_back(static_cast<int>(a));
  }
  for (std::size_t a = space->spatial; a < space->axes.size(); ++a) p.order.push_back(static_cast<int>(a));
  const bool reduces = space->axes.size() > space->spatial;
  p.space = std::move(space);
  for (std::size_t i = 0; i < p.space->operand_count(); ++i) {
    p.operands.push_back({.staged = reduces && i < p.space->inputs.size()});
    p.operands[i].vector = default_vector(p, i, max_vector);
  }
  return p;
}

}  // namespace tilescope::tile

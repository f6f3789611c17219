// What lanes do together with a matrix instruction: fragments from the staged tiles into registers, their products, and
// where results are; all as the instruction's maps say.

#include <algorithm>
#include <bit>
#include <ranges>
#include <span>

#include <fmt/format.h>

#include "arch/derive.h"
#include "lower/stage_lowering.h"
#include "tile/core_matrices.h"

namespace tilescope::lower {
namespace {

// Of the numbers below a power of two.
std::size_t bits_of(std::int64_t count) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count)) - 1);
}

}  // namespace

using arch::FragmentAxis;
using tile::FragmentDigit;

void StageLowering::add_matrix_instruction() {
  const arch::ComputeSpec& c = *p_.matrix->spec;
  const arch::Spelling spelling = c.spelling.value_or(arch::Spelling{});
  MatrixInstruction i{c.name, {c.m, c.n, c.k}, p_.lanes(), c.dtype, c.accumulate, {}, {}, c.fragments->c, {}, {}};
  if (!p_.in_core_matrices()) {
    i.a = c.fragments->a;
    i.b = c.fragments->b;
  }
  i.cuda = spelling.cuda.value_or("");
  i.hip = spelling.hip.value_or("");
  kernel_.matrix_instructions.push_back(std::move(i));
}

StageLowering::MatrixSide StageLowering::matrix_side(std::size_t i) const {
  const tile::MatrixUnit& u = *p_.matrix;
  MatrixSide s{.operand = i, .axis = i == 0 ? u.rows : u.columns, .unit = i == 0 ? u.m : u.n};
  if (!p_.in_core_matrices()) s.elements = tile::fragment_map(u, i).elements_of_lane();
  return s;
}

std::int64_t StageLowering::fragment_unit(std::size_t axis) const {
  const tile::MatrixUnit& u = *p_.matrix;
  return axis == u.rows ? u.m : axis == u.columns ? u.n : 1;
}

std::vector<std::size_t> StageLowering::fragment_axes(const MatrixSide& s) const {
  std::vector<std::size_t> out;
  for (std::size_t a = 0; a < space().spatial; ++a)
    if (a != s.axis && space().inputs[s.operand].uses(static_cast<int>(a))) out.push_back(a);
  out.push_back(s.axis);
  return out;
}

void StageLowering::add_matrix_fragments() {
  for (std::size_t i = 0; i < space().inputs.size(); ++i) {
    const MatrixSide s = matrix_side(i);
    std::int64_t fragments = 1;
    for (const std::size_t a : fragment_axes(s)) fragments *= p_.mapping[a].thread_extent() / fragment_unit(a);
    const tile::Operand& o = space().inputs[i];
    const base::Dtype dtype = expression().tensors[static_cast<std::size_t>(o.tensor)].dtype;
    matrix_registers_.push_back(add_buffer({o.name + "_part", Space::kRegister, dtype, fragments * s.elements, -1, 0}));
  }
}

// --- fragments of a warp's tile

std::vector<AxisLoop> StageLowering::fragment_loops(std::size_t axis, std::int64_t together) {
  const std::int64_t unit = fragment_unit(axis);
  std::vector<AxisLoop> loops = indices_.thread_loops(axis, unit * together);
  for (AxisLoop& l : loops) l.position /= unit;
  return loops;
}

Affine StageLowering::fragment_number(const std::vector<std::size_t>& axes, std::size_t side, std::int64_t together) {
  Affine number;
  for (const std::size_t a : axes)
    number = number * (p_.mapping[a].thread_extent() / fragment_unit(a)) +
             indices_.position(fragment_loops(a, a == side ? together : 1));
  return number;
}

Affine StageLowering::lane_digit(std::int64_t faster, std::int64_t count) {
  return count == 1 ? constant(0) : maker_.quotient(maker_.thread(), faster, count, "lane");
}

StageLowering::MatrixPlace StageLowering::lane_place(const std::vector<FragmentDigit>& digits) {
  MatrixPlace place;
  for (const FragmentDigit& d : digits) {
    Affine& to = place.along(d.axis);
    to = to + lane_digit(d.faster, d.count) * d.step;
  }
  return place;
}

int StageLowering::matrix_loop(const std::string& name, std::int64_t extent) {
  const auto known = matrix_loops_.find({name, extent});
  if (known != matrix_loops_.end()) return known->second;
  return matrix_loops_[{name, extent}] = maker_.loop(name, extent);
}

// The element of a staged tile that is so far, along the side's axis and along k, from where the fragments begin at
// which the loops stand.
Affine StageLowering::in_staged_tile(const MatrixSide& s, std::int64_t together, const MatrixPlace& place,
                                     const StepPosition& at, const Affine& slot) {
  std::vector<std::vector<AxisLoop>> loops(space().axes.size());
  for (const std::size_t a : fragment_axes(s)) loops[a] = fragment_loops(a, a == s.axis ? together : 1);
  std::vector<Affine> local = local_values(loops);
  local[s.axis] = local[s.axis] + place.side;
  local[p_.matrix->depth] = local[p_.matrix->depth] + place.deep;
  const tile::Operand& o = space().inputs[s.operand];
  const auto r = static_cast<std::size_t>(o.reads.front());
  return in_slot(s.operand, addresses_.in_tile(o, read(r), local, absolute_values(local, at)).at, slot);
}

// --- reads

// Loops over a lane's elements from bit `first` of their number on, the fastest one last; where they stand in the
// lane's own count is added to `to`, where in the fragment to `place`.
std::vector<AxisLoop> StageLowering::element_loops(const MatrixSide& s, std::size_t first, Affine& to,
                                                   MatrixPlace& place) {
  std::vector<FragmentDigit> digits = tile::digits_of(tile::fragment_map(*p_.matrix, s.operand).elements, first);
  std::vector<AxisLoop> loops;
  for (const FragmentDigit& d : std::views::reverse(digits)) {
    const int index = matrix_loop(fmt::format("{}_{}", space().inputs[s.operand].name, d.faster), d.count);
    loops.push_back({index, d.count, d.step, d.faster});
    to = to + maker_.value(index) * d.faster;
    Affine& along = place.along(d.axis);
    along = along + maker_.value(index) * d.step;
  }
  return loops;
}

Statement StageLowering::load_matrix_fragments(std::size_t i, const StepPosition& at, const Affine& slot) {
  const MatrixSide s = matrix_side(i);
  const tile::FragmentRead read = tile::fragment_read(p_, i, arch::widest_access_of(chip_));
  const arch::FragmentMap& map = tile::fragment_map(*p_.matrix, i);
  std::vector<AxisLoop> loops;
  const std::vector<std::size_t> axes = fragment_axes(s);
  for (const std::size_t a : axes)
    for (const AxisLoop& l : fragment_loops(a, a == s.axis ? read.together : 1)) loops.push_back(l);
  Affine to = fragment_number(axes, s.axis, read.together) * s.elements;
  const auto nested = [&](auto what, const std::vector<AxisLoop>& inside) {
    loops.insert(loops.end(), inside.begin(), inside.end());
    return nest(loops, {{std::move(what), {}}}, true).front();
  };
  if (!read.by_rows()) {
    MatrixPlace place = lane_place(tile::digits_of(map.lanes));
    const std::vector<AxisLoop> inside = element_loops(s, bits_of(read.run), to, place);
    return nested(
        Copy{{matrix_registers_[i], to}, {tiles_[i].shared, in_staged_tile(s, 1, place, at, slot)}, read.run, {}, {}},
        inside);
  }
  // A lane names the row of its number.
  MatrixPlace place = lane_place(tile::digits_of(std::span(read.rows.begin(), read.rows.end())));
  const std::vector<AxisLoop> inside = element_loops(s, bits_of(s.elements / read.parts), to, place);
  LoadMatrices load;
  load.count = std::int64_t{1} << read.rows.size();
  load.map = tile::map_of_load(p_, i, read);
  load.transposed = read.how == tile::FragmentRead::How::kTransposedRows;
  load.rows = {{matrix_registers_[i], to},
               {tiles_[i].shared, in_staged_tile(s, read.together, place, at, slot)},
               read.run,
               {},
               {}};
  if (load.count < p_.lanes()) load.rows.when.push_back({lane_digit(1, p_.lanes()), load.count});
  return nested(std::move(load), inside);
}

// --- products and results

Body StageLowering::multiply_fragments(const StepPosition& at, const Affine& slot) {
  Body body;
  const tile::MatrixUnit& u = *p_.matrix;
  MultiplyMatrices multiply{0, {accumulators_, {}}, {}, {}};
  multiply.d.offset = fragment_number(result_axes_, u.columns, 1) * matrix_results();
  for (std::size_t i = 0; i < space().inputs.size(); ++i) {
    const MatrixSide s = matrix_side(i);
    body.push_back(load_matrix_fragments(i, at, slot));
    Access& factor = i == 0 ? multiply.a : multiply.b;
    factor = {matrix_registers_[i], fragment_number(fragment_axes(s), s.axis, 1) * s.elements};
  }
  std::vector<AxisLoop> loops;
  for (const std::size_t a : result_axes_)
    for (const AxisLoop& l : fragment_loops(a, 1)) loops.push_back(l);
  body.push_back(nest(loops, {{multiply, {}}}, true).front());
  return body;
}

// --- products of a group, whose factors stay in the scratchpad

StagedFactor StageLowering::staged_factor(std::size_t i, std::int64_t together, const StepPosition& at,
                                          const Affine& slot) {
  const MatrixSide s = matrix_side(i);
  const tile::CoreMatrices core = tile::core_matrices(p_, i);
  const auto& dims = space().inputs[i].dims;
  StagedFactor out{{tiles_[i].shared, in_staged_tile(s, together, {}, at, slot)}, core.below, core.beside, false};
  if (static_cast<std::size_t>(dims.back().terms[0].axis) != s.axis) return out;
  std::swap(out.along, out.deep);
  out.transposed = true;
  return out;
}

// A group's fragments that lie side by side along the columns are one instruction's.
Body StageLowering::begin_products(const StepPosition& at, const Affine& slot) {
  const tile::MatrixUnit& u = *p_.matrix;
  const std::int64_t together = tile::fragments_together(p_);
  MultiplyStaged m{0, u.n * together, {accumulators_, {}}, {}, {}};
  m.d.offset = fragment_number(result_axes_, u.columns, together) * matrix_results();
  m.a = staged_factor(0, 1, at, slot);
  m.b = staged_factor(1, together, at, slot);
  std::vector<AxisLoop> loops;
  for (const std::size_t a : result_axes_)
    for (const AxisLoop& l : fragment_loops(a, a == u.columns ? together : 1)) loops.push_back(l);
  Body body;
  body.push_back({BeginProducts{accumulators_}, {}});
  for (Statement& s : in_chunk_loops(nest(loops, {{m, {}}}, true))) body.push_back(std::move(s));
  return body;
}

Body StageLowering::end_products() const {
  Body body;
  body.push_back({EndProducts{accumulators_}, {}});
  return body;
}

std::int64_t StageLowering::matrix_results() const { return p_.matrix->m * p_.matrix->n / p_.matrix->lanes; }

// A lane's results in a fragment, `vector` neighbours an iteration: a loop for each digit of their number.
std::vector<FragmentDigit> StageLowering::result_digits(std::int64_t vector) const {
  return tile::digits_of(p_.matrix->spec->fragments->c.elements, bits_of(vector));
}

int StageLowering::result_loop(const FragmentDigit& d) {
  return matrix_loop(fmt::format("result_{}", d.faster), d.count);
}

std::vector<std::vector<AxisLoop>> StageLowering::matrix_result_loops(std::int64_t vector) {
  std::vector<std::vector<AxisLoop>> loops(space().axes.size());
  for (const std::size_t a : result_axes_) loops[a] = fragment_loops(a, 1);
  for (const FragmentDigit& d : std::views::reverse(result_digits(vector)))
    loops[d.axis == FragmentAxis::kRow ? p_.matrix->rows : p_.matrix->columns].push_back(
        {result_loop(d), d.count, d.step, d.faster});
  return loops;
}

Affine StageLowering::matrix_result_position(std::int64_t vector) {
  Affine in_fragment;
  for (const FragmentDigit& d : result_digits(vector))
    in_fragment = in_fragment + maker_.value(result_loop(d)) * d.faster;
  return fragment_number(result_axes_, p_.matrix->columns, 1) * matrix_results() + in_fragment;
}

void StageLowering::add_lane(std::vector<Affine>& local) {
  for (const FragmentDigit& d : tile::digits_of(p_.matrix->spec->fragments->c.lanes)) {
    Affine& to = local[d.axis == FragmentAxis::kRow ? p_.matrix->rows : p_.matrix->columns];
    to = to + lane_digit(d.faster, d.count) * d.step;
  }
}

}  // namespace tilescope::lower

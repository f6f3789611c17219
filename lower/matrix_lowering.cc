// What the lanes of a warp do together with a matrix instruction: fragments from the staged tiles into registers, their
// products, and where results are.
//
// Rows of a staged tile whose pieces of 16 bytes run along k are read by LoadMatrices as they stand, others of two-byte
// elements transposed. What cannot be read so (bytes, or tf32, whose neighbours are not along k, rows that rotation or
// padding shifts by less than 16 bytes) every lane reads for itself.

#include <algorithm>

#include <fmt/format.h>

#include "lower/matrix_layout.h"
#include "lower/stage_lowering.h"
#include "tile/boxes.h"
#include "tile/core_matrices.h"

namespace tilescope::lower {

// --- what there is

bool StageLowering::matrices_lower() {
  const std::size_t before = why_.size();
  const tile::MatrixUnit& u = *p_.matrix;
  const auto refuse = [&](const std::string& what) {
    why_.push_back(fmt::format("instruction {}: {}", u.instruction, what));
  };
  const base::Dtype elements = expression().tensors[static_cast<std::size_t>(space().inputs[0].tensor)].dtype;
  const base::Dtype sums = expression().accumulate;
  const MatrixShape shape{u.m, u.n, u.k};
  if (!(u.factors_staged ? is_known_staged(shape, elements, sums) : is_known(shape, elements, sums)))
    refuse(fmt::format("fragments of {}x{}x{} ({} into {}) are not lowered; those of {} are", u.m, u.n, u.k,
                       base::name_of(elements), base::name_of(sums),
                       u.factors_staged ? known_staged_multiplications() : known_multiplications()));
  if (const std::int64_t lanes = u.factors_staged ? kGroupLanes : kMatrixLanes; u.lanes != lanes)
    refuse(fmt::format("its {} lanes are not the {} that share fragments", u.lanes, lanes));
  if (u.factors_staged && u.most_columns > kGroupMostColumns)
    refuse(fmt::format("{} columns are more than the {} that there are", u.most_columns, kGroupMostColumns));
  for (std::size_t i = 0; i < space().inputs.size(); ++i)
    if (!p_.operands[i].staged) refuse(fmt::format("{} is not staged", space().inputs[i].name));
  if (why_.size() == before && u.factors_staged)
    if (const std::string why = tile::core_matrices_refusal(p_); !why.empty()) refuse(why);
  if (const std::string why = tile::boxes_refusal(p_, chip_); !why.empty()) refuse(why);
  return why_.size() == before;
}

StageLowering::MatrixSide StageLowering::matrix_side(std::size_t i) const {
  const tile::MatrixUnit& u = *p_.matrix;
  MatrixSide s{.operand = i, .axis = i == 0 ? u.rows : u.columns, .unit = i == 0 ? u.m : u.n};
  s.word = kMatrixRegisterBytes / space().inputs[i].element.n;
  s.along = s.unit / kMatrixRows;
  s.deep = u.k * space().inputs[i].element.n / kMatrixRowBytes;
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

void StageLowering::add_matrix_loops() {
  row_half_ = maker_.loop("row_half", 2);
  column_ = maker_.loop("column", 2);
}

void StageLowering::add_matrix_fragments() {
  for (std::size_t i = 0; i < space().inputs.size(); ++i) {
    const MatrixSide s = matrix_side(i);
    std::int64_t fragments = 1;
    for (const std::size_t a : fragment_axes(s)) fragments *= p_.mapping[a].thread_extent() / fragment_unit(a);
    const tile::Operand& o = space().inputs[i];
    const base::Dtype dtype = expression().tensors[static_cast<std::size_t>(o.tensor)].dtype;
    matrix_registers_.push_back(
        add_buffer({o.name + "_part", Space::kRegister, dtype, fragments * s.elements(), -1, 0}));
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

// The element of a staged tile that is so far, along the side's axis and along k, from where the fragments begin at
// which the loops stand.
Affine StageLowering::in_staged_tile(const MatrixSide& s, std::int64_t together, const Affine& along,
                                     const Affine& deep, const StepPosition& at, const Affine& slot) {
  std::vector<std::vector<AxisLoop>> loops(space().axes.size());
  for (const std::size_t a : fragment_axes(s)) loops[a] = fragment_loops(a, a == s.axis ? together : 1);
  std::vector<Affine> local = local_values(loops);
  local[s.axis] = local[s.axis] + along;
  local[p_.matrix->depth] = local[p_.matrix->depth] + deep;
  const tile::Operand& o = space().inputs[s.operand];
  const auto r = static_cast<std::size_t>(o.reads.front());
  return in_slot(s.operand, addresses_.in_tile(o, read(r), local, absolute_values(local, at)).at, slot);
}

// --- reads

Statement StageLowering::load_matrix_fragments(std::size_t i, const StepPosition& at, const Affine& slot) {
  const MatrixSide s = matrix_side(i);
  const tile::Operand& o = space().inputs[i];
  const std::int64_t row = kMatrixRowBytes / o.element.n;  // elements
  const std::size_t side_by_side =
      o.dims.empty() || o.dims.back().terms.empty() ? space().axes.size() : o.dims.back().terms[0].axis;
  const bool transposed = side_by_side == s.axis && s.word == 2;
  if (side_by_side != p_.matrix->depth && !transposed) return load_matrix_elements(s, at, slot);
  // As many fragments together as one load takes.
  const std::int64_t matrices = s.along * s.deep;
  std::int64_t together = 1;
  while (2 * together * matrices <= 4 && p_.mapping[s.axis].serial % (2 * together * s.unit) == 0) together *= 2;
  // Lane l reads row l % 8 of matrix l / 8; matrices lie along the axis, then along k, then come the next fragments.
  const Affine line = lane_digit(1, kMatrixRows);
  Affine along = lane_digit(kMatrixRows, s.along) * kMatrixRows + lane_digit(kMatrixRows * matrices, together) * s.unit;
  Affine deep = lane_digit(kMatrixRows * s.along, s.deep) * row;
  Affine& of_line = transposed ? deep : along;
  of_line = of_line + line;
  const Affine from = in_staged_tile(s, together, along, deep, at, slot);
  if (alignment_of(from, row) != row) return load_matrix_elements(s, at, slot);
  LoadMatrices load;
  load.count = together * matrices;
  load.transposed = transposed;
  const std::vector<std::size_t> axes = fragment_axes(s);
  load.rows = {{matrix_registers_[i], fragment_number(axes, s.axis, together) * s.elements()},
               {tiles_[i].shared, from},
               row,
               {},
               {}};
  if (const std::int64_t lanes = kMatrixRows * load.count; lanes < kMatrixLanes)
    load.rows.when.push_back({lane_digit(1, kMatrixLanes), lanes});
  std::vector<AxisLoop> loops;
  for (const std::size_t a : axes)
    for (const AxisLoop& l : fragment_loops(a, a == s.axis ? together : 1)) loops.push_back(l);
  return nest(loops, {{load, {}}}, true).front();
}

// Lane l holds words of row or column l / 4 of its fragments, from l % 4 words along k on.
Statement StageLowering::load_matrix_elements(const MatrixSide& s, const StepPosition& at, const Affine& slot) {
  const std::string& name = space().inputs[s.operand].name;
  const std::int64_t sharing = kMatrixRowBytes / kMatrixRegisterBytes;
  std::vector<std::size_t> axes = fragment_axes(s);
  std::vector<AxisLoop> loops;
  for (const std::size_t a : axes)
    for (const AxisLoop& l : fragment_loops(a, 1)) loops.push_back(l);
  const auto inside = [&](const char* what, std::int64_t extent) {
    const int index = maker_.loop(fmt::format("{}_{}", name, what), extent);
    if (extent > 1) loops.push_back({index, extent, 1, 1});
    return maker_.value(index);
  };
  const Affine deep = inside("deep", s.deep), along = inside("along", s.along), in_word = inside("word", s.word);
  const Affine to =
      fragment_number(axes, s.axis, 1) * s.elements() + deep * (s.along * s.word) + along * s.word + in_word;
  const Affine from = in_staged_tile(s, 1, lane_digit(sharing, kMatrixRows) + along * kMatrixRows,
                                     lane_digit(1, sharing) * s.word + deep * (sharing * s.word) + in_word, at, slot);
  const Copy copy{{matrix_registers_[s.operand], to}, {tiles_[s.operand].shared, from}, 1, {}, {}};
  return nest(loops, {{copy, {}}}, true).front();
}

// --- products and results

Body StageLowering::multiply_fragments(const StepPosition& at, const Affine& slot) {
  Body body;
  const tile::MatrixUnit& u = *p_.matrix;
  MultiplyMatrices multiply{{u.m, u.n, u.k}, {accumulators_, {}}, {}, {}};
  multiply.d.offset = fragment_number(result_axes_, u.columns, 1) * matrix_results();
  for (std::size_t i = 0; i < space().inputs.size(); ++i) {
    const MatrixSide s = matrix_side(i);
    body.push_back(load_matrix_fragments(i, at, slot));
    Access& factor = i == 0 ? multiply.a : multiply.b;
    factor = {matrix_registers_[i], fragment_number(fragment_axes(s), s.axis, 1) * s.elements()};
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
  StagedFactor out{{tiles_[i].shared, in_staged_tile(s, together, {}, {}, at, slot)}, core.below, core.beside, false};
  if (static_cast<std::size_t>(dims.back().terms[0].axis) != s.axis) return out;
  std::swap(out.along, out.deep);
  out.transposed = true;
  return out;
}

// A group's fragments that lie side by side along the columns are one instruction's.
Body StageLowering::begin_products(const StepPosition& at, const Affine& slot) {
  const tile::MatrixUnit& u = *p_.matrix;
  const std::int64_t together = tile::fragments_together(p_);
  MultiplyStaged m{{u.m, u.n * together, u.k}, u.lanes, {accumulators_, {}}, {}, {}};
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

// Of a fragment a lane has two neighbouring columns of one row and of that eight rows further.
std::vector<std::vector<AxisLoop>> StageLowering::matrix_result_loops(std::int64_t vector) {
  std::vector<std::vector<AxisLoop>> loops(space().axes.size());
  for (const std::size_t a : result_axes_) loops[a] = fragment_loops(a, 1);
  loops[p_.matrix->rows].push_back({row_half_, 2, kMatrixRows, 1});
  if (vector == 1) loops[p_.matrix->columns].push_back({column_, 2, 1, 1});
  return loops;
}

Affine StageLowering::matrix_result_position(std::int64_t vector) {
  const Affine in_fragment = maker_.value(row_half_) * 2 + (vector == 1 ? maker_.value(column_) : constant(0));
  return fragment_number(result_axes_, p_.matrix->columns, 1) * matrix_results() + in_fragment;
}

void StageLowering::add_lane(std::vector<Affine>& local) {
  const std::int64_t sharing = kMatrixRowBytes / kMatrixRegisterBytes;
  local[p_.matrix->rows] = local[p_.matrix->rows] + lane_digit(sharing, kMatrixRows) +
                           lane_digit(kMatrixLanes, p_.lanes() / kMatrixLanes) * (2 * kMatrixRows);
  local[p_.matrix->columns] = local[p_.matrix->columns] + lane_digit(1, sharing) * 2;
}

}  // namespace tilescope::lower

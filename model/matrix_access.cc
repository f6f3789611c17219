#include "model/matrix_access.h"

#include <cstdint>

#include "tile/core_matrices.h"

namespace tilescope::model {
namespace {

using tile::Operand;
using tile::StageProgram;

constexpr std::int64_t kLanes = 32, kRowBytes = 16, kWordBytes = 4, kMostMatrices = 4;
constexpr std::int64_t kEight = 8;  // rows of a matrix of ldmatrix; lanes that read one are as many

// The lane's element along the operand's rows or columns, and along k.
struct Place {
  std::int64_t across = 0, deep = 0;
};

class Fragments {
 public:
  Fragments(const StageProgram& p, std::size_t operand)
      : p_(p),
        plan_(p.operands[operand]),
        o_(p.space->operand(operand)),
        shape_(tile::data_tile(o_, p.block)),
        axis_(operand == 0 ? p.matrix->rows : p.matrix->columns),
        fragment_(operand == 0 ? p.matrix->m : p.matrix->n) {}

  MatrixRead read() const { return rows_serve() ? by_rows() : by_elements(); }

 private:
  std::int64_t word() const { return kWordBytes / o_.element.n; }
  std::int64_t row() const { return kRowBytes / o_.element.n; }
  std::int64_t matrices_across() const { return fragment_ / kEight; }
  std::int64_t matrices_deep() const { return p_.matrix->k / row(); }
  bool runs_along(std::size_t axis) const {
    return !o_.dims.empty() && !o_.dims.back().terms.empty() &&
           static_cast<std::size_t>(o_.dims.back().terms[0].axis) == axis;
  }
  bool runs_across() const { return runs_along(axis_); }

  // Whether pieces of 16 bytes of the staged rows are whole, and those that ldmatrix wants.
  bool rows_serve() const {
    if (!runs_along(p_.matrix->depth) && !(runs_across() && o_.element.n == 2)) return false;
    return (shape_.back() + plan_.padding) % row() == 0 && plan_.swizzle % row() == 0 &&
           (plan_.swizzle == 0 || shape_.back() % row() == 0);
  }

  // Fragments that a warp reads in a step.
  double fragments() const {
    double n = p_.windows_per_step() / static_cast<double>(fragment_);
    for (std::size_t a = 0; a < p_.space->spatial; ++a)
      if (o_.uses(static_cast<int>(a))) n *= static_cast<double>(p_.mapping[a].thread_extent());
    return n;
  }

  // Bytes from the tile's beginning.
  std::int64_t offset(const Place& at) const {
    std::int64_t line = 0, column = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto axis =
          o_.dims[d].terms.empty() ? p_.space->axes.size() : static_cast<std::size_t>(o_.dims[d].terms[0].axis);
      const std::int64_t value = axis == axis_ ? at.across : axis == p_.matrix->depth ? at.deep : 0;
      if (d + 1 == shape_.size())
        column = value;
      else
        line = line * shape_[d] + value;
    }
    return o_.element.n * staged_offset(line, column, shape_.back(), plan_);
  }

  // Eight lanes for each matrix, as many matrices as one instruction takes: those of a fragment, then further
  // fragments'.
  MatrixRead by_rows() const {
    const std::int64_t matrices = matrices_across() * matrices_deep();
    std::int64_t together = 1;
    while (2 * together * matrices <= kMostMatrices && p_.mapping[axis_].serial % (2 * together * fragment_) == 0)
      together *= 2;
    MatrixRead out;
    out.access.bytes = kRowBytes;
    out.accesses = fragments() / static_cast<double>(together);
    for (std::int64_t lane = 0; lane < kEight * matrices * together; ++lane) {
      const std::int64_t matrix = lane / kEight;
      Place at{matrix % matrices_across() * kEight + matrix / matrices * fragment_,
               matrix % matrices / matrices_across() * row()};
      (runs_across() ? at.deep : at.across) += lane % kEight;
      out.access.offset.push_back(offset(at));
    }
    return out;
  }

  // Four lanes share a row or column, each with neighbours along k of its own.
  MatrixRead by_elements() const {
    MatrixRead out;
    out.access.bytes = o_.element.n;
    out.accesses = fragments() * static_cast<double>(fragment_ * p_.matrix->k / kLanes);
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      out.access.offset.push_back(offset({lane / 4, lane % 4 * word()}));
    return out;
  }

  const StageProgram& p_;
  const tile::OperandPlan& plan_;
  const Operand& o_;
  tile::TileShape shape_;
  std::size_t axis_;
  std::int64_t fragment_;
};

// Fragments of PTX's mma, or of its wgmma, which four warps share row by row.
bool known(const StageProgram& p) {
  const tile::MatrixUnit& u = *p.matrix;
  const std::int64_t k_bytes = u.k * p.space->operand(0).element.n;
  const bool of_warp = u.m == 2 * kEight && u.lanes == kLanes && !u.factors_staged;
  const bool of_group = u.m == 8 * kEight && u.lanes == 4 * kLanes && u.factors_staged;
  return (of_warp || of_group) && u.n == kEight && (k_bytes == kRowBytes || k_bytes == 2 * kRowBytes);
}

// A core matrix fills eight lanes' 16 bytes side by side. One instruction takes those of both factors.
MatrixRead read_of_group(const StageProgram& p, std::size_t operand) {
  const tile::MatrixUnit& u = *p.matrix;
  const std::int64_t together = tile::fragments_together(p);
  double instructions = p.windows_per_step() / static_cast<double>(u.m * u.n * together);
  for (const tile::AxisMapping& m : p.mapping) instructions *= static_cast<double>(m.thread_extent());
  const std::int64_t along = operand == 0 ? u.m : u.n * together;
  const std::int64_t deep = u.k * p.space->operand(operand).element.n / kRowBytes;
  MatrixRead out;
  out.access.bytes = kRowBytes;
  for (std::int64_t row = 0; row < kEight; ++row) out.access.offset.push_back(row * kRowBytes);
  out.accesses = instructions * static_cast<double>(along / kEight * deep) / static_cast<double>(u.lanes / kLanes);
  return out;
}

}  // namespace

std::optional<MatrixRead> matrix_read(const StageProgram& p, std::size_t operand) {
  if (!known(p)) return std::nullopt;
  if (p.in_core_matrices()) return read_of_group(p, operand);
  return Fragments(p, operand).read();
}

std::optional<WarpAccess> matrix_store(const StageProgram& p) {
  if (!known(p)) return std::nullopt;
  const Operand& o = p.space->output;
  WarpAccess out;
  out.bytes = p.operands[p.space->inputs.size()].vector * o.element.n;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms) {
        const auto axis = static_cast<std::size_t>(t.axis);
        if (axis == p.matrix->rows) offset += tile::memory_offset(o, d, lane / 4);
        if (axis == p.matrix->columns) offset += tile::memory_offset(o, d, lane % 4 * 2);
      }
    out.offset.push_back(offset * o.element.n);
  }
  return out;
}

}  // namespace tilescope::model

#include "model/matrix_access.h"

#include <algorithm>
#include <cstdint>

#include "tile/microkernel/wgmma.h"
#include "tile/microkernel/mma.h"

namespace tilescope::model {
namespace {

using arch::FragmentPlace;
using tile::Operand;
using tile::StageProgram;

// Bytes from a staged tile's beginning to an element of its first fragments.
class TilePlaces {
 public:
  TilePlaces(const StageProgram& p, std::size_t operand)
      : plan_(p.operands[operand]),
        element_(p.space->operand(operand).element.n),
        shape_(tile::data_tile(p.space->operand(operand), p.block)) {
    const Operand& o = p.space->operand(operand);
    const std::size_t side = operand == 0 ? p.matrix()->rows : p.matrix()->columns;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto axis =
          o.dims[d].terms.empty() ? p.space->axes.size() : static_cast<std::size_t>(o.dims[d].terms[0].axis);
      if (axis == side) side_ = d;
      if (axis == p.matrix()->depth) deep_ = d;
    }
  }

  std::int64_t offset(const FragmentPlace& at) const {
    std::int64_t line = 0, column = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t value = d == side_ ? at.row + at.column : d == deep_ ? at.depth : 0;
      if (d + 1 == shape_.size())
        column = value;
      else
        line = line * shape_[d] + value;
    }
    return element_ * staged_offset(line, column, shape_.back(), plan_);
  }

 private:
  const tile::OperandPlan& plan_;
  std::int64_t element_;
  tile::TileShape shape_;
  std::size_t side_ = tile::kMaxAxes, deep_ = tile::kMaxAxes;
};

// Fragments that the instruction's lanes read in a step.
double fragments_of(const StageProgram& p, std::size_t operand) {
  double n = p.windows_per_step() / static_cast<double>(operand == 0 ? p.matrix()->m : p.matrix()->n);
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (p.space->operand(operand).uses(static_cast<int>(a))) n *= static_cast<double>(p.mapping[a].thread_extent());
  return n;
}

// Of the first warp that has part in the instruction.
MatrixRead read_of_lanes(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access) {
  const arch::FragmentMap& map = tile::fragment_map(*p.matrix(), operand);
  const tile::FragmentRead read = tile::fragment_read(p, operand, max_access);
  const TilePlaces places(p, operand);
  MatrixRead out;
  out.access.bytes = read.run * p.space->operand(operand).element.n;
  const double fragments = fragments_of(p, operand);
  if (!read.by_rows()) {
    out.accesses = fragments * static_cast<double>(map.elements_of_lane() / read.run);
    for (std::int64_t lane = 0; lane < std::min(warp, map.lane_count()); ++lane)
      out.access.offset.push_back(places.offset(map.place_of(lane, 0)));
    return out;
  }
  out.accesses = fragments * static_cast<double>(read.parts) / static_cast<double>(read.together);
  const std::int64_t rows = std::int64_t{1} << read.rows.size();
  for (std::int64_t lane = 0; lane < std::min(warp, rows); ++lane)
    out.access.offset.push_back(places.offset(arch::place_of(read.rows, lane)));
  return out;
}

// A core matrix fills eight lanes' 16 bytes side by side. One instruction takes those of both factors.
MatrixRead read_of_group(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const tile::MatrixUnit& u = *p.matrix();
  const std::int64_t together = tile::fragments_together(p);
  double instructions = p.windows_per_step() / static_cast<double>(u.m * u.n * together);
  for (const tile::AxisMapping& m : p.mapping) instructions *= static_cast<double>(m.thread_extent());
  const std::int64_t along = operand == 0 ? u.m : u.n * together;
  const std::int64_t deep = u.k * p.space->operand(operand).element.n / tile::kCoreRowBytes;
  MatrixRead out;
  out.access.bytes = tile::kCoreRowBytes;
  for (std::int64_t row = 0; row < tile::kCoreRows; ++row) out.access.offset.push_back(row * tile::kCoreRowBytes);
  out.accesses =
      instructions * static_cast<double>(along / tile::kCoreRows * deep) / static_cast<double>(u.lanes / warp);
  return out;
}

}  // namespace

MatrixRead matrix_read(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes max_access) {
  return p.in_core_matrices() ? read_of_group(p, operand, warp) : read_of_lanes(p, operand, warp, max_access);
}

WarpAccess matrix_store(const StageProgram& p, std::int64_t warp) {
  const Operand& o = p.space->output;
  const arch::FragmentMap& map = p.matrix()->spec->fragments->c;
  WarpAccess out;
  out.bytes = p.operands[p.space->inputs.size()].vector * o.element.n;
  for (std::int64_t lane = 0; lane < std::min(warp, map.lane_count()); ++lane) {
    const FragmentPlace at = map.place_of(lane, 0);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms) {
        const auto axis = static_cast<std::size_t>(t.axis);
        if (axis == p.matrix()->rows) offset += tile::memory_offset(o, d, at.row);
        if (axis == p.matrix()->columns) offset += tile::memory_offset(o, d, at.column);
      }
    out.offset.push_back(offset * o.element.n);
  }
  return out;
}

}  // namespace tilescope::model

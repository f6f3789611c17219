// SPDX-License-Identifier: Apache-2.0
#include "tile/microkernel/mma.h"

#include <algorithm>
#include <cstdint>

#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/registers.h"
#include "tile/microkernel/wgmma.h"

namespace tilescope::model {
namespace {

using arch::FragmentPlace;
using tile::Operand;
using tile::StageProgram;

// Bytes from a cached tile's beginning to an element of its first fragments.
class TilePlaces {
 public:
  TilePlaces(const tile::MatrixUnit& u, const StageProgram& p, std::size_t operand)
      : plan_(p.operands[operand]),
        element_(p.space->operand(operand).element.n),
        shape_(tile::data_tile(p.space->operand(operand), p.block)) {
    const Operand& o = p.space->operand(operand);
    const std::size_t side = operand == 0 ? u.rows : u.columns;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto axis =
          o.dims[d].terms.empty() ? p.space->axes.size() : static_cast<std::size_t>(o.dims[d].terms[0].axis);
      if (axis == side) side_ = d;
      if (axis == u.depth) deep_ = d;
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
    return element_ * cached_offset(line, column, shape_.back(), plan_);
  }

 private:
  const tile::OperandPlan& plan_;
  std::int64_t element_;
  tile::TileShape shape_;
  std::size_t side_ = tile::kMaxAxes, deep_ = tile::kMaxAxes;
};

// Fragments that the instruction's lanes read in a step.
double fragments_of(const tile::MatrixUnit& u, const StageProgram& p, std::size_t operand) {
  double n = p.reduction_tiles_per_step() / static_cast<double>(operand == 0 ? u.m : u.n);
  for (std::size_t a = 0; a < p.space->spatial; ++a)
    if (p.space->operand(operand).uses(static_cast<int>(a))) n *= static_cast<double>(p.mapping[a].thread_extent());
  return n;
}

}  // namespace

// Of the first warp that has part in the instruction.
CachedRead cached_read(const tile::Mma& kernel, const StageProgram& p, std::size_t operand, std::int64_t warp,
                       base::Bytes max_access, const StepReads& /*reads*/) {
  const arch::FragmentMap& map = tile::fragment_map(kernel.unit, operand);
  const tile::FragmentRead read = tile::fragment_read(p, operand, max_access);
  const TilePlaces places(kernel.unit, p, operand);
  CachedRead out;
  WarpAccess access;
  access.bytes = read.run * p.space->operand(operand).element.n;
  const double fragments = fragments_of(kernel.unit, p, operand);
  if (tile::is_converted(p, operand)) out.converted = fragments * static_cast<double>(map.elements_of_lane());
  if (!read.by_rows()) {
    out.accesses = fragments * static_cast<double>(map.elements_of_lane() / read.run);
    for (std::int64_t lane = 0; lane < std::min(warp, map.lane_count()); ++lane)
      access.offset.push_back(places.offset(map.place_of(lane, 0)));
    out.access = AccessPattern(access);
    return out;
  }
  out.accesses = fragments * static_cast<double>(read.parts) / static_cast<double>(read.together);
  const std::int64_t rows = std::int64_t{1} << read.rows.size();
  for (std::int64_t lane = 0; lane < std::min(warp, rows); ++lane)
    access.offset.push_back(places.offset(arch::place_of(read.rows, lane)));
  out.access = AccessPattern(access);
  return out;
}

RowPlaces cached_places(const tile::Mma& /*kernel*/, const StageProgram& p, std::size_t operand) {
  return row_places(p, operand);
}

InstructionWork instruction_work(const tile::Mma& kernel, const StageProgram& p) {
  const tile::MatrixUnit& u = kernel.unit;
  const auto iterations = static_cast<double>(u.m * u.n * tile::fragments_together(p) * u.k);
  return {iterations / static_cast<double>(u.lanes), static_cast<double>(u.k)};
}

std::int64_t fragment_registers(const tile::Mma& kernel, const StageProgram& p, std::size_t operand) {
  const tile::MatrixUnit& u = kernel.unit;
  const arch::FragmentMap& map = tile::fragment_map(u, operand);
  const std::int64_t copies = map.lane_count() * map.elements_of_lane() / ((operand == 0 ? u.m : u.n) * u.k);
  const std::int64_t elements = fragment_of(p, operand) * copies;
  const std::int64_t loaded = registers_for(p, elements, p.space->inputs[operand].element);
  if (!tile::is_converted(p, operand)) return loaded;
  return loaded + registers_for(p, elements, base::size_of(p.space->expression.dtype));
}

std::optional<Arithmetic> arithmetic_of(const tile::Mma& kernel, const StageProgram& /*p*/, const Machine& m) {
  return arithmetic_of(m, kernel.unit.instruction);
}

OperandRegisters operand_registers(const tile::Mma& kernel, const StageProgram& p, const Geometry& m) {
  std::int64_t held = 0;
  for (std::size_t i = 0; i < p.space->values; ++i) held += fragment_registers(kernel, p, i);
  return {held, std::max<std::int64_t>(0, m.allowances.mma_registers.value_or(0) - registers_of_sums(p))};
}

std::optional<AccessPattern> result_store(const tile::Mma& kernel, const StageProgram& p, std::int64_t warp) {
  return store_of_lanes(kernel.unit, p, warp);
}

AccessPattern result_places(const tile::Mma& kernel, const StageProgram& p, std::int64_t vector, std::int64_t warp) {
  return write_of_lanes(kernel.unit, p, vector, warp);
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
// What entries share.

#include <algorithm>

#include "base/integer.h"
#include "model/simt/microkernel/detail/costs.h"
#include "model/simt/registers.h"
#include "tile/fit.h"
#include "tile/microkernel/epilogue.h"
#include "tile/transfer/results.h"

namespace tilescope::model {

using tile::StageProgram;

RowPlaces row_places(const StageProgram& p, std::size_t operand) {
  const tile::TileShape shape = tile::data_tile(p.space->operand(operand), p.block);
  return {shape.empty() ? 1 : shape.back(), p.operands[operand]};
}

std::int64_t registers_for(const StageProgram& p, std::int64_t elements, base::Bytes element) {
  return base::ceil_div(base::ceil_div(elements, p.lanes()) * element.n, tile::kRegisterBytes);
}

std::int64_t fragment_of(const StageProgram& p, std::size_t operand) {
  return static_cast<std::int64_t>(tile::fragment_elements(p, operand));
}

namespace {

// What an operand has at the first results of a warp's lanes, `bytes` each, where an element lies as `offset` says of a
// dimension and a coordinate along it.
template <class Offset>
AccessPattern first_results(const tile::MatrixUnit& unit, const tile::Operand& o, std::int64_t warp, std::int64_t bytes,
                            base::Bytes element, const Offset& offset_along) {
  const arch::FragmentMap& map = unit.spec->fragments->c;
  WarpAccess out;
  out.bytes = bytes;
  for (std::int64_t lane = 0; lane < std::min(warp, map.lane_count()); ++lane) {
    const arch::FragmentPlace at = map.place_of(lane, 0);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms) {
        const auto axis = static_cast<std::size_t>(t.axis);
        if (axis == unit.rows) offset += offset_along(d, t.coefficient * at.row);
        if (axis == unit.columns) offset += offset_along(d, t.coefficient * at.column);
      }
    out.offset.push_back(offset * element.n);
  }
  return AccessPattern(out);
}

}  // namespace

AccessPattern store_of_lanes(const tile::MatrixUnit& unit, const StageProgram& p, std::int64_t warp) {
  const tile::Operand& o = p.space->output;
  return first_results(unit, o, warp, p.operands[p.space->inputs.size()].vector * o.element.n, o.element,
                       [&](std::size_t d, std::int64_t at) { return tile::memory_offset(o, d, at); });
}

AccessPattern write_of_lanes(const tile::MatrixUnit& unit, const StageProgram& p, std::int64_t vector,
                             std::int64_t warp) {
  const ResultTile results(p);
  const base::Bytes element = tile::result_element(p);
  return first_results(unit, p.space->output, warp, vector * element.n, element,
                       [&](std::size_t d, std::int64_t at) { return results.offset(d, at); });
}

double scale_elements(const StageProgram& p, std::size_t operand) {
  double elements = 1;
  for (const tile::TileDim& d : p.space->inputs[operand].dims)
    if (d.shared_by == 1 && !d.terms.empty())
      elements *= static_cast<double>(tile::results_of_thread(p, static_cast<std::size_t>(d.terms[0].axis)));
  return elements;
}

AccessPattern scale_read(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const tile::Operand& o = p.space->inputs[operand];
  return first_results(*p.matrix(), o, warp, o.element.n, o.element, [&](std::size_t d, std::int64_t at) {
    return o.dims[d].shared_by > 1 ? 0 : tile::memory_offset(o, d, at);
  });
}

// Scales that all results of a thread share are first multiplied with another one.
PromotionWork promotion_work(const StageProgram& p) {
  PromotionWork out;
  if (p.space->scale_depth == 0 || p.matrix() == nullptr) return out;
  double own = 0, shared = 0, most = 1, registers = static_cast<double>(registers_of_sums(p));
  for (std::size_t i = p.space->values; i < p.space->inputs.size(); ++i) {
    const double elements = scale_elements(p, i);
    (elements > 1 ? own : shared) += 1;
    most = std::max(most, elements);
    registers += elements;
  }
  const double results = static_cast<double>(tile::data_tile_elements(p.space->output, p.thread) / p.lanes());
  out.instructions = std::max(1.0, own) * results + (own > 0 ? shared : shared - 1) * most;
  out.registers = static_cast<std::int64_t>(registers);
  return out;
}

std::optional<AccessPattern> read_at_results(const tile::MicroKernel& kernel, const StageProgram& p,
                                             std::size_t operand, const tile::TileShape& pitch, std::int64_t vector,
                                             std::int64_t warp) {
  const auto* epilogue = std::get_if<tile::Epilogue>(&kernel);
  const tile::MatrixUnit* unit = epilogue == nullptr ? nullptr : tile::holding_unit_of(*epilogue);
  if (unit == nullptr) return std::nullopt;
  const tile::Operand& o = p.space->operand(operand);
  return first_results(*unit, o, warp, vector * o.element.n, o.element,
                       [&](std::size_t d, std::int64_t at) { return o.dims[d].whole ? 0 : at * pitch[d]; });
}

}  // namespace tilescope::model

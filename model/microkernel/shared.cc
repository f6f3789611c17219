// What entries share.

#include <algorithm>

#include "base/integer.h"
#include "model/microkernel/costs.h"
#include "tile/fit.h"

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

WarpAccess store_of_lanes(const tile::MatrixUnit& unit, const StageProgram& p, std::int64_t warp) {
  const tile::Operand& o = p.space->output;
  const arch::FragmentMap& map = unit.spec->fragments->c;
  WarpAccess out;
  out.bytes = p.operands[p.space->inputs.size()].vector * o.element.n;
  for (std::int64_t lane = 0; lane < std::min(warp, map.lane_count()); ++lane) {
    const arch::FragmentPlace at = map.place_of(lane, 0);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < o.dims.size(); ++d)
      for (const expr::Term& t : o.dims[d].terms) {
        const auto axis = static_cast<std::size_t>(t.axis);
        if (axis == unit.rows) offset += tile::memory_offset(o, d, at.row);
        if (axis == unit.columns) offset += tile::memory_offset(o, d, at.column);
      }
    out.offset.push_back(offset * o.element.n);
  }
  return out;
}

}  // namespace tilescope::model

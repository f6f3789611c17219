// SPDX-License-Identifier: Apache-2.0
#include "model/simt/transfer/detail/pieces.h"

#include <algorithm>

#include "base/integer.h"
#include "model/simt/microkernel/detail/costs.h"

namespace tilescope::model {

using tile::Operand;
using tile::StageProgram;

namespace {

// The pieces of a cooperative copy that a warp's lanes take first: how many lanes there are, and how many elements from
// one to the next.
struct FirstPieces {
  std::int64_t lanes = 0, apart = 0;
};
FirstPieces first_pieces(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const tile::OperandPlan& plan = p.operands[operand];
  const std::int64_t pieces = base::ceil_div(tile::data_tile_elements(p.space->operand(operand), p.block), plan.vector);
  const std::int64_t chunk = plan.blocked ? base::ceil_div(pieces, p.threads()) : 1;
  return {std::min({warp, p.threads(), base::ceil_div(pieces, chunk)}), chunk * plan.vector};
}

// The first pieces where an element lies as `place` says of its row and column.
template <class Place>
WarpAccess pieces_at(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes element,
                     const Place& place) {
  const tile::TileShape shape = tile::data_tile(p.space->operand(operand), p.block);
  const std::int64_t length = shape.empty() ? 1 : shape.back();
  const FirstPieces pieces = first_pieces(p, operand, warp);
  WarpAccess access;
  access.bytes = p.operands[operand].vector * element.n;
  std::int64_t row = 0, column = 0;
  for (std::int64_t lane = 0; lane < pieces.lanes; ++lane) {
    access.offset.push_back(element.n * place(row, column));
    for (column += pieces.apart; column >= length; column -= length) ++row;
  }
  return access;
}

}  // namespace

WarpAccess scratchpad_write(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  return of_micro_kernel(p, [&](const auto& kernel) {
    return pieces_at(p, operand, warp, p.space->operand(operand).element, cached_places(kernel, p, operand));
  });
}

WarpAccess pieces_in_rows(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes element) {
  return pieces_at(p, operand, warp, element, row_places(p, operand));
}

WarpAccess copied_access(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const Operand& o = p.space->operand(operand);
  const tile::TileShape shape = tile::data_tile(o, p.block);
  const std::int64_t length = shape.empty() ? 1 : shape.back(), vector = p.operands[operand].vector;
  // Where a row of the tile begins in memory, and a column of a row.
  const auto begin_of_row = [&](std::int64_t row) {
    std::int64_t offset = 0;
    for (std::size_t d = shape.size() - 1; d-- > 0 && row > 0; row /= shape[d])
      offset += tile::memory_offset(o, d, row % shape[d]);
    return offset;
  };
  const bool straight = !shape.empty() && o.steps.back().size() == 1 && length <= o.steps.back().front().size;
  const auto of_column = [&](std::int64_t column) {
    if (straight) return column * o.steps.back().front().stride;
    return shape.empty() ? 0 : tile::memory_offset(o, shape.size() - 1, column);
  };
  WarpAccess access;
  access.bytes = vector * o.element.n;
  const FirstPieces pieces = first_pieces(p, operand, warp);
  std::int64_t row = 0, column = 0, begin = 0;
  for (std::int64_t lane = 0; lane < pieces.lanes; ++lane) {
    access.offset.push_back((begin + of_column(column)) * o.element.n);
    column += pieces.apart;
    if (column < length) continue;
    for (; column >= length; column -= length) ++row;
    begin = begin_of_row(row);
  }
  return access;
}

}  // namespace tilescope::model

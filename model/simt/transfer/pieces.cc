// SPDX-License-Identifier: Apache-2.0
#include "model/simt/transfer/detail/pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

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

// Adds the lanes along one dimension of a tile of which they take every so many elements, row by row, and leaves those
// of slower dimensions. False where they lie in no loops.
template <class Add>
bool add_lanes_along(FirstPieces& left, std::int64_t extent, const Add& add) {
  if (left.lanes == 1) return true;
  if (left.apart % extent == 0) {
    left.apart /= extent;
    return true;
  }
  const std::int64_t inside = std::min(left.lanes, base::ceil_div(extent, left.apart));
  if (!add(inside, left.apart)) return false;
  if (inside == left.lanes) {
    left.lanes = 1;
    return true;
  }
  if (extent % left.apart != 0) return false;
  left = {base::ceil_div(left.lanes, inside), 1};
  return true;
}

// The first pieces where rows of that length lie in rows.
std::optional<AccessPattern> pieces_in_loops(FirstPieces pieces, std::int64_t bytes, std::int64_t length,
                                             base::Bytes element, const RowPlaces& place) {
  AccessPattern access(bytes, pieces.lanes);
  const auto columns = [&](std::int64_t n, std::int64_t apart) { return access.add(n, apart * element.n), true; };
  if (!add_lanes_along(pieces, length, columns)) return std::nullopt;
  access.add(pieces.lanes, pieces.apart * (length + place.plan.padding) * element.n);
  if (place.plan.rotate != 0) access.turn_rows(turn_of(length, element, place.plan));
  return access;
}
std::optional<AccessPattern> pieces_in_loops(FirstPieces /*pieces*/, std::int64_t /*bytes*/, std::int64_t /*length*/,
                                             base::Bytes /*element*/, const CorePlaces& /*place*/) {
  return std::nullopt;
}

std::int64_t row_length(const StageProgram& /*p*/, std::size_t /*operand*/, const RowPlaces& place) {
  return place.length;
}
std::int64_t row_length(const StageProgram& p, std::size_t operand, const CorePlaces& /*place*/) {
  return row_places(p, operand).length;
}

// The first pieces where an element lies as `place` says of its row and column.
template <class Place>
AccessPattern pieces_at(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes element,
                        const Place& place) {
  const std::int64_t length = row_length(p, operand, place);
  const FirstPieces pieces = first_pieces(p, operand, warp);
  WarpAccess access;
  access.bytes = p.operands[operand].vector * element.n;
  if (auto in_loops = pieces_in_loops(pieces, access.bytes, length, element, place)) return *std::move(in_loops);
  std::int64_t row = 0, column = 0;
  for (std::int64_t lane = 0; lane < pieces.lanes; ++lane) {
    access.offset.push_back(element.n * place(row, column));
    for (column += pieces.apart; column >= length; column -= length) ++row;
  }
  return AccessPattern(access);
}

// The first pieces of a tile in the memory of its tensor.
std::optional<AccessPattern> copies_in_loops(const Operand& o, const tile::TileShape& shape, FirstPieces pieces,
                                             std::int64_t bytes) {
  AccessPattern access(bytes, pieces.lanes);
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto along = [&](std::int64_t n, std::int64_t apart) { return add_collapsed(access, o, d, n, apart); };
    if (!add_lanes_along(pieces, shape[d], along)) return std::nullopt;
  }
  return pieces.lanes == 1 ? std::optional(access) : std::nullopt;
}

}  // namespace

AccessPattern scratchpad_write(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  return of_micro_kernel(p, [&](const auto& kernel) {
    return pieces_at(p, operand, warp, p.space->operand(operand).element, cached_places(kernel, p, operand));
  });
}

AccessPattern pieces_in_rows(const StageProgram& p, std::size_t operand, std::int64_t warp, base::Bytes element) {
  return pieces_at(p, operand, warp, element, row_places(p, operand));
}

AccessPattern copied_access(const StageProgram& p, std::size_t operand, std::int64_t warp) {
  const Operand& o = p.space->operand(operand);
  const tile::TileShape shape = tile::data_tile(o, p.block);
  const std::int64_t length = shape.empty() ? 1 : shape.back(), vector = p.operands[operand].vector;
  const FirstPieces pieces = first_pieces(p, operand, warp);
  if (auto in_loops = copies_in_loops(o, shape, pieces, vector * o.element.n)) return *std::move(in_loops);
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
  std::int64_t row = 0, column = 0, begin = 0;
  for (std::int64_t lane = 0; lane < pieces.lanes; ++lane) {
    access.offset.push_back((begin + of_column(column)) * o.element.n);
    column += pieces.apart;
    if (column < length) continue;
    for (; column >= length; column -= length) ++row;
    begin = begin_of_row(row);
  }
  return AccessPattern(access);
}

}  // namespace tilescope::model

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The four alignment rules of an rTile (ROLLER OSDI'22, section 3.1) and the sizes that satisfy them.

#include <cstdint>

#include "tile/space.h"

namespace tilescope::tile {

// Rule 1, execution unit: a tile's parallel width is a multiple of the unit's width (a warp).
constexpr bool fills_units(std::int64_t threads, std::int64_t unit_width) { return threads % unit_width == 0; }

// Rule 2, memory transaction: an axis that indexes the innermost dimension of an operand is cut at multiples of the
// transaction, or not at all.
bool fills_transactions(const TileSpace& space, std::size_t axis, std::int64_t extent, base::Bytes transaction);

// Rule 3, memory bank: elements of padding for rows of `row` elements, read `read_width` elements at a time, so that
// the row stride is congruent to the read's width (in whole banks) modulo the period of `banks` banks of
// `bank_elements` elements each.
std::int64_t bank_padding(std::int64_t row, std::int64_t read_width, std::int64_t banks, std::int64_t bank_elements);

// Rule 4, tensor shape: the part of an axis of `length` that tiles of `extent` compute in vain, as a ratio.
constexpr double wasted_ratio(std::int64_t length, std::int64_t extent) {
  return static_cast<double>((extent - length % extent) % extent) / static_cast<double>(length);
}

}  // namespace tilescope::tile

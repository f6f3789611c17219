// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places of a matrix's elements in the lanes that execute an instruction together, as maps that are linear in bits.
// In `k2 k4 r1 r2 r4 / k1 r8 k8`, the part before `/` says what each bit of a lane's number adds, the part after it
// what each bit of the number of one of the lane's elements adds, the lowest bit first: `r` to the row (of A or C), `c`
// to the column (of B or C), `k` to the depth. A bit `-` adds nothing: lanes that differ in it hold copies. Source of
// the maps: see each device's file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::base {
class Diagnostics;
}
namespace tilescope::arch {

// Coordinates of an element: rows of A and C, columns of B and C, depth of A and B. Coordinates that a matrix lacks
// stay 0.
struct FragmentPlace {
  std::int64_t row = 0, column = 0, depth = 0;

  bool operator==(const FragmentPlace&) const = default;
};

enum class FragmentAxis : std::uint8_t { kNone, kRow, kColumn, kDepth };

// What one bit of a lane's or an element's number adds to one coordinate; kNone adds nothing.
struct FragmentBit {
  FragmentAxis axis = FragmentAxis::kNone;
  std::int64_t step = 0;

  bool operator==(const FragmentBit&) const = default;
};

// The coordinates that a number stands for: the sum of what its bits add.
template <class Bits>
FragmentPlace place_of(const Bits& bits, std::int64_t number) {
  FragmentPlace place;
  for (const FragmentBit& b : bits) {
    const std::int64_t step = b.step * (number & 1);
    number >>= 1;
    (b.axis == FragmentAxis::kRow ? place.row : b.axis == FragmentAxis::kColumn ? place.column : place.depth) += step;
  }
  return place;
}

struct FragmentMap {
  std::vector<FragmentBit> lanes, elements;

  std::int64_t lane_count() const { return std::int64_t{1} << lanes.size(); }
  std::int64_t elements_of_lane() const { return std::int64_t{1} << elements.size(); }
  FragmentPlace place_of(std::int64_t lane, std::int64_t element) const;

  bool operator==(const FragmentMap&) const = default;
};

// Reads a map from a text; nullopt, after an error, if the text is not one.
std::optional<FragmentMap> fragment_map_of(std::string_view text, base::Diagnostics& diags);

// The text of a map, as files write it.
std::string text_of(const FragmentMap& map);

}  // namespace tilescope::arch

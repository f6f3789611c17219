// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which bits of a byte address choose channel, rank, bank group, bank, row and column of a DRAM level: the `mapping` of
// a chip's file, as fields from the lowest bit up.
//
//   off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+15]
//
// A field is a name, its lowest bit and its width. A part may come in several fields, lower bits first. `ch^[18+3]`
// folds bits that belong to other fields into the channel: exclusive or, so that no stride stays in one channel.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

enum class DramPart : std::uint8_t { kOffset, kColumn, kChannel, kRank, kGroup, kBank, kRow };
inline constexpr std::size_t kDramParts = 7;

struct MappingField {
  DramPart part{};
  int low = 0, width = 0;
  bool folded = false;  // added to the part's bits instead of being them
};

struct DramMapping {
  std::vector<MappingField> fields;  // as written

  // Bits of an address that belong to a part.
  int bits() const;
  // Bits that a part has.
  int width_of(DramPart p) const;
  // The value of a part for a byte address; bits above the mapping are dropped.
  std::int64_t value(DramPart p, std::int64_t address) const;
};

// Reads a mapping and holds it against the level whose it is: every bit belongs to one part, and parts are as wide as
// the level has channels, ranks, groups, banks, columns and bytes of a burst, rows enough for its capacity. Nothing,
// after an error, where it does not.
std::optional<DramMapping> mapping_of(const DramLevel& dram, base::Diagnostics& diags);

}  // namespace tilescope::arch

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which bits of a byte address choose channel, rank, bank group, bank, row and column of a DRAM level: the `mapping` of
// a chip's file, as fields from the lowest bit up.
//
//   off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+15]
//
// A field is a name, its lowest bit and its width. A part may come in several fields, lower bits first. `ch^[18+3]`
// folds bits that belong to other fields into the channel: exclusive or, so that no stride stays in one channel;
// `ba^1[12+1]` onto the bank's bits from its second one on.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"

namespace tilescope::arch {

enum class DramPart : std::uint8_t { kOffset, kColumn, kChannel, kPseudoChannel, kRank, kGroup, kBank, kRow };
inline constexpr std::size_t kDramParts = 8;

struct MappingField {
  DramPart part{};
  int low = 0, width = 0;
  bool folded = false;  // added to the part's bits instead of being them
  int onto = 0;         // of a folded one, the lowest of those
};

struct DramMapping {
  std::vector<MappingField> fields;  // as written

  // Bits of an address that belong to a part.
  int bits() const;
  // Bits that a part has.
  int width_of(DramPart p) const;
  // Bytes, from a multiple of them on, that lie in one row of one bank: no bit below chooses anything but a column.
  std::int64_t bytes_together() const;
  // The value of a part for a byte address; bits above the mapping are dropped.
  std::int64_t value(DramPart p, std::int64_t address) const;
};

// Reads a mapping and holds it against the level whose it is: every bit belongs to one part, and parts are as wide as
// the level has controllers, pseudo-channels of each, ranks, groups, banks, columns and bytes of a burst, rows enough
// for its capacity; every folded bit changes some burst's place, and no two bursts share one. Nothing, after an error,
// where it does not.
std::optional<DramMapping> mapping_of(const DramLevel& dram, base::Diagnostics& diags);

}  // namespace tilescope::arch

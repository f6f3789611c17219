// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which bits of a byte address choose channel, rank, bank group, bank, row and column of a DRAM level: the `mapping` of
// a chip's file, as fields from the lowest bit up.
//
//   off[0+5] co[5+5] bg[10+2] ba[12+2] ro[14+15]
//
// A field is a name, its lowest bit and its width. A part may come in several fields, lower bits first. `ch^[18+3]`
// folds bits that belong to other fields into the channel by exclusive or, so that no stride stays in one channel.
// `ba^1[12+1]` folds bit 12 into the second bit of the bank.

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
  bool folded = false;  // added to the part's bits by exclusive or, instead of being them
  int onto = 0;         // of a folded field: the lowest of those bits
};

struct DramMapping {
  std::vector<MappingField> fields;  // as written

  // Number of address bits that belong to a part.
  int bits() const;
  // Number of bits of a part.
  int width_of(DramPart p) const;
  // Size of the largest aligned range of bytes that lies in one row of one bank: the address bits within it choose only
  // the column and the byte of a burst.
  std::int64_t bytes_together() const;
  // The value of a part for a byte address; bits above the mapping are dropped.
  std::int64_t value(DramPart p, std::int64_t address) const;
};

// Reads the mapping of a level and checks it against the level. Every bit belongs to one part. Parts are as wide as the
// level's counts of controllers, pseudo-channels per controller, ranks, groups, banks, columns and bytes of a burst;
// there are enough rows for its capacity, and less than twice as many. Every folded bit changes some burst's place, and
// no two bursts share a place. Returns nullopt, after an error, if the mapping does not comply.
std::optional<DramMapping> mapping_of(const DramLevel& dram, base::Diagnostics& diags);

}  // namespace tilescope::arch

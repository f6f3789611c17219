// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace tilescope::importers {

// Bits of an address that choose one of n, a power of two; 0 of none and of one.
inline int bits_of(std::int64_t n) {
  return n > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1 : 0;
}

}  // namespace tilescope::importers

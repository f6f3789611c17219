// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tilescope::construct {

// The product of extents: the elements of a tile.
template <class Number = std::int64_t>
Number volume_of(const auto& extents) {
  Number n = 1;
  for (const std::int64_t extent : extents) n *= static_cast<Number>(extent);
  return n;
}

}  // namespace tilescope::construct

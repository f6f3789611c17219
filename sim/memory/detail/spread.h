// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers whose bits are spread, for sets, banks and slices that strides cannot single out.

#include <cstdint>

namespace tilescope::sim {

// One of 0 .. n-1, evenly, by a number whose bits are spread (mixed()); n < 2^32.
inline std::int64_t one_of(std::uint64_t spread, std::int64_t n) {
  return static_cast<std::int64_t>(((spread >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}

// Spreads a number over all bits: the finalizer of splitmix64.
inline std::uint64_t mixed(std::int64_t n) {
  auto z = static_cast<std::uint64_t>(n) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace tilescope::sim

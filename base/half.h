// SPDX-License-Identifier: Apache-2.0
#pragma once
// IEEE 754 binary16: 5 bits of exponent with a bias of 15, 10 bits of fraction. Needs the standard library alone.

#include <cmath>
#include <cstdint>

namespace tilescope::base {

// The bits of a value that binary16 holds exactly.
inline std::uint16_t f16_bits(double v) {
  const unsigned sign = std::signbit(v) ? 0x8000U : 0U;
  const double size = std::fabs(v);
  if (std::isnan(v)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (std::isinf(v)) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (size < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<unsigned>(size * 0x1p24));
  const int exponent = std::ilogb(size);
  const auto fraction = static_cast<unsigned>((std::scalbn(size, -exponent) - 1) * 1024);
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 15) << 10 | fraction);
}

inline double f16_value(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const unsigned exponent = bits >> 10 & 31U, fraction = bits & 1023U;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * fraction * 0x1p-24;
  return sign * std::scalbn(1 + fraction / 1024.0, static_cast<int>(exponent) - 15);
}

}  // namespace tilescope::base

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bits of 8-bit floats. Needs only the standard library and base/dtype.h.
//
// OCP's f8e4m3 and f8e5m2 (Open Compute Project, "8-bit floating point specification", 2023): f8e5m2 follows IEEE 754;
// f8e4m3 has numbers in place of infinities, and one NaN. AMD's fnuz pair (CDNA3 ISA) has a bias greater by one; every
// code is a number except that of -0, which is the NaN.

#include <cmath>
#include <cstdint>

#include "base/dtype.h"

namespace tilescope::base {

struct Float8 {
  int fraction_bits, bias;
  unsigned greatest;  // the code of the greatest number
  constexpr bool is_fnuz() const { return greatest == 0x7fU; }
  constexpr bool has_infinity() const { return greatest == 0x7bU; }
};

// The format of a dtype for which is_float8 is true.
constexpr Float8 float8_of(base::Dtype dtype) {
  switch (dtype) {
    case base::Dtype::kF8E4M3:
      return {3, 7, 0x7eU};
    case base::Dtype::kF8E5M2:
      return {2, 15, 0x7bU};
    case base::Dtype::kF8E4M3Fnuz:
      return {3, 8, 0x7fU};
    default:
      return {2, 16, 0x7fU};
  }
}

// The code of a value that the format holds exactly.
inline std::uint8_t float8_bits(const Float8& f, double v) {
  const unsigned sign = std::signbit(v) ? 0x80U : 0U;
  const double size = std::fabs(v);
  if (std::isnan(v)) return f.is_fnuz() ? 0x80U : 0x7fU;
  if (std::isinf(v)) return static_cast<std::uint8_t>(sign | (f.greatest + 1));
  if (size == 0) return static_cast<std::uint8_t>(f.is_fnuz() ? 0U : sign);
  const int least = 1 - f.bias, exponent = std::ilogb(size) < least ? least : std::ilogb(size);
  // The fraction in units of its last place, including the hidden bit if there is one, which carries into the exponent.
  const auto units = static_cast<unsigned>(std::scalbn(size, f.fraction_bits - exponent));
  const auto steps = static_cast<unsigned>(exponent - least) << f.fraction_bits;
  return static_cast<std::uint8_t>(sign | (steps + units));
}

inline double float8_value(const Float8& f, std::uint8_t code) {
  const double sign = (code & 0x80U) != 0 ? -1 : 1;
  const unsigned rest = code & 0x7fU, exponent = rest >> f.fraction_bits,
                 fraction = rest & ((1U << f.fraction_bits) - 1);
  if (f.is_fnuz() && code == 0x80U) return std::nan("");
  if (rest > f.greatest) return f.has_infinity() && rest == f.greatest + 1 ? sign * INFINITY : std::nan("");
  const unsigned hidden = exponent == 0 ? 0U : 1U << f.fraction_bits;
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - f.bias - f.fraction_bits;
  return sign * std::scalbn(hidden + fraction, scale);
}

}  // namespace tilescope::base

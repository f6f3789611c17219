// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 8-bit floats as a table: the value of every code in closed form, from bias and width of the fraction alone, and
// the nearest code of a value by looking at all of them. Independent of what the program computes them with.

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/dtype.h"

namespace tilescope::tests {

// OCP's pair: Open Compute Project, "8-bit floating point specification"; the fnuz pair: CDNA3 ISA. `numbers` is how
// many of the 128 positive codes, from zero on, are finite numbers.
struct Float8Format {
  base::Dtype dtype;
  int bias, fraction_bits, numbers;
  bool has_infinity, is_fnuz;
  double greatest, least;  // as the specifications state them
};
inline const std::vector<Float8Format> kFloat8Formats = {
    {base::Dtype::kF8E4M3, 7, 3, 127, false, false, 448, 0x1p-9},
    {base::Dtype::kF8E5M2, 15, 2, 124, true, false, 57344, 0x1p-16},
    {base::Dtype::kF8E4M3Fnuz, 8, 3, 128, false, true, 240, 0x1p-10},
    {base::Dtype::kF8E5M2Fnuz, 16, 2, 128, false, true, 57344, 0x1p-17}};

class Float8Table {
 public:
  explicit Float8Table(const Float8Format& f) : format_(f) {
    const int steps = 1 << f.fraction_bits;
    for (int code = 0; code < 128; ++code) {
      const int exponent = code / steps, fraction = code % steps;
      double size = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction_bits)
                                  : std::ldexp(1 + double(fraction) / steps, exponent - f.bias);
      if (code >= f.numbers) size = f.has_infinity && code == f.numbers ? HUGE_VAL : std::nan("");
      values_[static_cast<std::size_t>(code)] = size;
      values_[static_cast<std::size_t>(code + 128)] = f.is_fnuz && code == 0 ? std::nan("") : -size;
    }
  }

  double value(int code) const { return values_[static_cast<std::size_t>(code)]; }

  // What a conversion gives: the nearest finite value, of two the even code; PTX's cvt.satfinite takes infinity to the
  // greatest value, the fnuz pair's takes it to not-a-number.
  int nearest(double v) const {
    const int not_a_number = format_.is_fnuz ? 0x80 : 0x7f;
    if (std::isnan(v) || (std::isinf(v) && format_.is_fnuz)) return not_a_number;
    int best = format_.numbers - 1;
    if (std::fabs(v) < value(best)) {
      for (int code = 0; code < format_.numbers; ++code) {
        const double off = std::fabs(std::fabs(v) - value(code)), least = std::fabs(std::fabs(v) - value(best));
        if (off < least || (off == least && code % 2 == 0)) best = code;
      }
    }
    return std::signbit(v) && (!format_.is_fnuz || best != 0) ? best + 128 : best;
  }

 private:
  Float8Format format_;
  std::array<double, 256> values_{};
};

}  // namespace tilescope::tests

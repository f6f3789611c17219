// SPDX-License-Identifier: Apache-2.0
#pragma once
// The errors of an output against its expected values.

#include <algorithm>

namespace tilescope::api {

// Floating-point and integer outputs are compared separately.
struct ValueErrors {
  double ratio = 0;  // floating-point outputs: greatest |difference| relative to the output's greatest value
  // Integer outputs: greatest |difference|. Beyond 2^19, where f32 values that are rounded to integers are off by more
  // than one, it is relative to the output's greatest value times 2^-19.
  double units = 0;

  // Whether neither kind of error exceeds what is allowed.
  bool within(const ValueErrors& allowed) const { return ratio <= allowed.ratio && units <= allowed.units; }
};

// The greater error of each kind.
inline ValueErrors worse(const ValueErrors& a, const ValueErrors& b) {
  return {std::max(a.ratio, b.ratio), std::max(a.units, b.units)};
}

}  // namespace tilescope::api

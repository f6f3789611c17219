// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far an output is from what it should be.

#include <algorithm>

namespace tilescope::api {

// Real outputs and whole ones are compared apart.
struct ValueErrors {
  double ratio = 0;  // of real outputs: greatest |difference| relative to the output's greatest value
  double units = 0;  // of integer outputs: greatest |difference|; beyond 2^19, where reals of f32 that are rounded to
                     // whole numbers are off by more than one, relative to the output's greatest value times 2^-19

  // Not more than what is allowed, of either kind.
  bool within(const ValueErrors& allowed) const { return ratio <= allowed.ratio && units <= allowed.units; }
};

// The greater of both, kind by kind.
inline ValueErrors worse(const ValueErrors& a, const ValueErrors& b) {
  return {std::max(a.ratio, b.ratio), std::max(a.units, b.units)};
}

}  // namespace tilescope::api

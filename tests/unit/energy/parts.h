// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of an energy by their names.

#include <algorithm>
#include <string_view>

#include "energy/energy.h"

namespace tilescope::tests {

// In microjoules; 0 where there is no such part.
inline double part_of(const energy::Energy& e, std::string_view name) {
  const auto part = std::find_if(e.parts.begin(), e.parts.end(), [&](const energy::Part& p) { return p.name == name; });
  return part == e.parts.end() ? 0 : part->uj;
}

}  // namespace tilescope::tests

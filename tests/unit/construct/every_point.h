// SPDX-License-Identifier: Apache-2.0
#pragma once
// All points of a search space, counted through one by one, for spaces that are small.

#include <functional>

#include "construct/search_space.h"

namespace tilescope::tests {

// Calls `see` with every point of every collapse.
inline void for_every_point(const construct::SearchSpace& space,
                            const std::function<void(const construct::Point&)>& see) {
  for (std::size_t f = 0; f < space.collapses(); ++f) {
    const std::vector<construct::Knob>& knobs = space.knobs(f);
    construct::Point p{f, std::vector<std::size_t>(knobs.size(), 0)};
    for (std::size_t g = 0; g < knobs.size();) {
      if (g == 0) see(p);
      if (++p.options[g] < knobs[g].options.size()) {
        g = 0;
      } else {
        p.options[g] = 0;
        ++g;
      }
    }
  }
}

}  // namespace tilescope::tests

// SPDX-License-Identifier: Apache-2.0
#include "sim/bsp/detail/core_classes.h"

#include <algorithm>
#include <unordered_map>

#include "lower/bsp/places.h"

namespace tilescope::sim::bsp {

CoreClasses::CoreClasses(const lower::bsp::Stage& s) {
  std::unordered_map<std::int64_t, std::uint32_t> known;
  of_.reserve(static_cast<std::size_t>(s.cores));
  for (std::int64_t core = 0; core < s.cores; ++core) {
    std::int64_t key = 0;
    for (const lower::bsp::Axis& a : s.axes) {
      // A part is whole, the last one, or beyond the end.
      const std::int64_t left = a.extent - coordinate(a.core, core) * a.part;
      std::int64_t slice = 0;
      for (const int r : a.rings) slice += place_in(s.rings[static_cast<std::size_t>(r)], core);
      key = (key * 3 + (left >= a.part ? 0 : left > 0 ? 1 : 2)) * a.slices + slice % a.slices;
    }
    const auto [place, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(all_.size()));
    if (is_new) all_.push_back({core, 0});
    ++all_[place->second].cores;
    of_.push_back(place->second);
  }
}

}  // namespace tilescope::sim::bsp

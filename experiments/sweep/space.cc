// SPDX-License-Identifier: Apache-2.0
#include "experiments/sweep/detail/space.h"

#include <algorithm>

namespace tilescope::experiments {

DesignSpace space_of(const SweepSpec& spec, const SweepPlan& plan) {
  DesignSpace out;
  const auto add_axis = [&](std::size_t values, bool ordered) {
    out.sizes.push_back(values);
    out.ordered.push_back(ordered);
  };
  add_axis(spec.bases.size(), false);
  for (const SweepAxis& a : spec.axes) {
    if (a.equals) continue;
    // Numbers that rise or fall; tied paths go by the first one.
    const auto number = [](const std::vector<StoredValue>& v) { return v.front().number; };
    const bool numbers = std::all_of(a.values.begin(), a.values.end(), [&](const auto& v) { return number(v); });
    const auto before = [&](const auto& v, const auto& w) { return *number(v) < *number(w); };
    const bool ordered = numbers && (std::is_sorted(a.values.begin(), a.values.end(), before) ||
                                     std::is_sorted(a.values.rbegin(), a.values.rend(), before));
    add_axis(a.values.size(), ordered);
  }
  add_axis(spec.programs.size(), false);
  for (const PlannedPoint& p : plan.points) {
    if (p.point.is_base) continue;
    out.designs.push_back(p.index);
    out.designs.back().push_back(p.programs.value());
  }
  return out;
}

}  // namespace tilescope::experiments

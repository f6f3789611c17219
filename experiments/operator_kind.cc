#include "experiments/operator_kind.h"

#include <vector>

namespace tilescope::experiments {

std::string kind_of(const expr::Expression& one_stage) {
  const expr::Stage& s = one_stage.stages.front();
  if (s.spatial_count() == s.axes.size()) return "elementwise";
  bool window = false, wide_window = false;
  std::vector<bool> of_window(s.axes.size(), false);
  for (const expr::Read& r : s.reads)
    for (const expr::Coordinate& c : r.at)
      for (const expr::Term& t : c.terms) {
        const expr::Axis& axis = s.axes[static_cast<std::size_t>(t.axis)];
        if (c.terms.size() < 2 || !axis.reduction) continue;
        window = of_window[static_cast<std::size_t>(t.axis)] = true;
        wide_window = wide_window || axis.size > 1;
      }
  if (s.reads.size() == 1) return window ? "pool" : "reduction";
  if (s.reads.size() != 2) return "other";
  if (!window) return "matmul";
  for (std::size_t a = s.spatial_count(); a < s.axes.size(); ++a)
    if (!of_window[a]) return wide_window ? "conv KxK" : "conv 1x1";
  return "depthwise";
}

}  // namespace tilescope::experiments

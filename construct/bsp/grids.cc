// SPDX-License-Identifier: Apache-2.0
#include "construct/bsp/detail/grids.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/integer.h"

namespace tilescope::construct::bsp {
namespace {

using base::ceil_div;

// So many grids are tried; of the published filters' own more, as they are all tried.
constexpr std::size_t kMaxGrids = 1 << 16;

double of(std::int64_t n) { return static_cast<double>(n); }

// How many cores work at least, and how much is computed, over what the operator asks for, at most.
struct Filters {
  double min_cores = 0, max_computed = std::numeric_limits<double>::infinity();
};

// T10's, as its published code has them, with 0.9 for `strictness`. Both ask less of small operators.
Filters filters(const tile::TileSpace& space, std::int64_t cores, double strictness) {
  constexpr double kExtents = 220, kAxes = 7, kAxesPower = 1.0 / 18;
  double points = 1, longest = 1;
  for (const tile::TileAxis& a : space.axes) {
    points *= of(a.extent);
    longest = std::max(longest, of(a.extent));
  }
  const auto axes = static_cast<double>(space.axes.size());
  const double all = of(cores), by_extents = longest * axes / kExtents;
  return {all * strictness * std::min(points / (points + 2 * all), by_extents),
          1 / (strictness * std::min(points / (points + all), by_extents) * std::pow(axes / kAxes, kAxesPower))};
}

class Grids {
 public:
  Grids(const tile::TileSpace& space, const arch::ComputeSpec& instruction, std::int64_t cores, Filters filters)
      : space_(space), cores_(cores), filters_(filters) {
    for (std::size_t a = 0; a < space.axes.size(); ++a)
      parts_.push_back(parts_of(space.axes[a].extent, unit_of(space, instruction, a)));
  }

  // Leaves out every second number of parts of the axis that has most, until there are few enough.
  void thin_out() {
    for (;;) {
      std::size_t grids = 0;
      for_each([&](const tile::Extents&) { return ++grids <= kMaxGrids; });
      auto& longest = *std::max_element(parts_.begin(), parts_.end(),
                                        [](const auto& x, const auto& y) { return x.size() < y.size(); });
      if (grids <= kMaxGrids || longest.size() < 3) return;
      std::vector<std::int64_t> kept;
      for (std::size_t i = 0; i < longest.size(); ++i)
        if (i % 2 == 0 || i + 1 == longest.size()) kept.push_back(longest[i]);
      longest = std::move(kept);
    }
  }

  // Calls visit() with every grid that passes the filters, until it returns false.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::vector<double> further(parts_.size() + 1, 1);  // cores that the axes from there on may be cut for
    for (std::size_t a = parts_.size(); a-- > 0;) further[a] = further[a + 1] * of(parts_[a].back());
    tile::Extents grid;
    const auto go_on = [&](const auto& self, std::size_t axis, std::int64_t cores, double computed) -> bool {
      if (axis == parts_.size()) return visit(grid);
      const std::int64_t extent = space_.axes[axis].extent;
      for (const std::int64_t parts : parts_[axis]) {
        if (cores * parts > cores_) break;
        const double more = computed * of(parts * ceil_div(extent, parts)) / of(extent);
        if (of(cores * parts) * further[axis + 1] < filters_.min_cores || more > filters_.max_computed) continue;
        grid.push_back(parts);
        const bool on = self(self, axis + 1, cores * parts, more);
        grid.pop_back();
        if (!on) return false;
      }
      return true;
    };
    go_on(go_on, 0, 1, 1);
  }

 private:
  // Numbers of parts of an axis whose lengths differ and are multiples of its unit.
  std::vector<std::int64_t> parts_of(std::int64_t extent, std::int64_t unit) const {
    std::vector<std::int64_t> out;
    for (std::int64_t length = base::round_up(extent, unit); length > 0;) {
      const std::int64_t parts = ceil_div(extent, length);
      if (parts > cores_) break;
      out.push_back(parts);
      length = (extent - 1) / parts / unit * unit;  // the longest of which there are more
    }
    return out;
  }

  const tile::TileSpace& space_;
  std::int64_t cores_;
  Filters filters_;
  std::vector<std::vector<std::int64_t>> parts_;  // by tile axis, fewest first
};

}  // namespace

std::int64_t unit_of(const tile::TileSpace& space, const arch::ComputeSpec& instruction, std::size_t axis) {
  const bool matrix = instruction.n * instruction.k > 1;
  const bool fastest = axis + 1 == space.spatial || axis + 1 == space.axes.size();
  std::int64_t unit = 1;
  // Of a product the second operand's own axes are columns, the first one's rows.
  const bool columns = matrix && !space.inputs.front().uses(static_cast<int>(axis));
  if (matrix) unit = axis < space.spatial ? (columns ? instruction.n : 1) : fastest ? instruction.k : 1;
  if (!matrix && fastest) unit = instruction.per_core;
  return space.axes[axis].extent >= 2 * unit ? unit : 1;
}

std::vector<tile::Extents> list_grids(const tile::TileSpace& space, const arch::ComputeSpec& instruction,
                                      std::int64_t cores, bool published) {
  constexpr double kPublished = 0.9, kLooser = 0.7;
  std::vector<tile::Extents> out;
  const auto add = [&](const Grids& grids) {
    grids.for_each([&](const tile::Extents& grid) {
      out.push_back(grid);
      return true;
    });
  };
  Grids strict(space, instruction, cores, filters(space, cores, kPublished));
  if (!published) strict.thin_out();
  add(strict);
  if (!published) {
    Grids loose(space, instruction, cores, filters(space, cores, kLooser));
    loose.thin_out();
    add(loose);
  }
  if (out.empty()) {
    Grids all(space, instruction, cores, {});
    all.thin_out();
    add(all);
  }
  std::sort(out.begin(), out.end(), [](const tile::Extents& x, const tile::Extents& y) {
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace tilescope::construct::bsp

// SPDX-License-Identifier: Apache-2.0
#include "energy/arrays.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilescope::energy {
namespace {

// Bytes, and the bits whose bare cells take as much area.
using Point = std::pair<double, double>;

std::vector<Point> points_of(const Technology& technology) {
  constexpr double kBits = 8;
  std::vector<Point> points;
  for (const auto& [bytes, efficiency] : technology.by_bytes(Table::kArrayEfficiency))
    points.emplace_back(bytes, bytes * kBits / efficiency);
  return points;
}

}  // namespace

double bits_of_array(const Technology& technology, base::Bytes capacity) {
  const std::vector<Point> points = points_of(technology);
  const auto bytes = static_cast<double>(capacity.n);
  const Point& largest = points.back();
  if (bytes >= largest.first) return largest.second * bytes / largest.first;
  const auto above = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.first > bytes; });
  if (above == points.begin()) return above->second;
  const Point& below = *(above - 1);
  return below.second + (above->second - below.second) * (bytes - below.first) / (above->first - below.first);
}

double registers_mm2(const Technology& technology, double registers, double bits, double density) {
  const auto c = [&](std::string_view name) { return technology.at(Table::kRegisterFile, name).value; };
  const double files = std::max(1.0, registers / c("max_depth"));
  const double d = registers / files, w = bits, p = c("ports");
  const double um2 = c("constant") + c("D") * d + c("W") * w + c("P") * p + c("DW") * d * w + c("DD") * d * d +
                     c("WW") * w * w + c("PP") * p * p + c("DP") * d * p + c("WP") * w * p;
  constexpr double kPerMm2 = 1e6;
  return files * um2 / kPerMm2 * c("density") / density;
}

}  // namespace tilescope::energy

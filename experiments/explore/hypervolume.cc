// SPDX-License-Identifier: Apache-2.0
#include "experiments/explore/hypervolume.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace tilescope::experiments {
namespace {

using Point = std::vector<double>;

bool is_at_most(const Point& a, const Point& b) {
  for (std::size_t o = 0; o < a.size(); ++o)
    if (a[o] > b[o]) return false;
  return true;
}

// In ascending order, without those that another one is at most everywhere.
std::vector<Point> least(std::vector<Point> points) {
  std::sort(points.begin(), points.end());
  std::vector<Point> out;
  for (Point& p : points) {
    const auto covers = [&](const Point& other) { return is_at_most(other, p); };
    if (std::none_of(out.begin(), out.end(), covers)) out.push_back(std::move(p));
  }
  return out;
}

// The points are ascending in the first objective and therefore descending in the second one.
double area(const std::vector<Point>& points, const Point& reference) {
  double out = 0, above = reference[1];
  for (const Point& p : points) {
    out += (reference[0] - p[0]) * (above - p[1]);
    above = p[1];
  }
  return out;
}

double volume(const Point& p, const Point& reference) {
  double out = 1;
  for (std::size_t o = 0; o < p.size(); ++o) out *= reference[o] - p[o];
  return out;
}

// The volume of points that do not cover each other: of each one, what none behind it has.
double sum_of_exclusive(const std::vector<Point>& points, const Point& reference) {
  if (points.empty()) return 0;
  if (reference.size() == 1) return reference[0] - points.front()[0];
  if (reference.size() == 2) return area(points, reference);
  double out = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<Point> shared;  // with each point behind it
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      Point& both = shared.emplace_back(points[i]);
      for (std::size_t o = 0; o < both.size(); ++o) both[o] = std::max(both[o], points[j][o]);
    }
    out += volume(points[i], reference) - sum_of_exclusive(least(std::move(shared)), reference);
  }
  return out;
}

// Three objectives as slabs between the values of the last one, each as thick as it is high and of the area that the
// points below it have.
double slabs(std::vector<Point> points, const Point& reference) {
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a[2] < b[2]; });
  std::vector<Point> below;  // by the first two objectives, in the order of area()
  double out = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point p = {points[i][0], points[i][1]};
    const auto covers = [&](const Point& other) { return is_at_most(other, p); };
    if (std::none_of(below.begin(), below.end(), covers)) {
      std::erase_if(below, [&](const Point& other) { return is_at_most(p, other); });
      below.insert(std::upper_bound(below.begin(), below.end(), p), p);
    }
    const double top = i + 1 < points.size() ? points[i + 1][2] : reference[2];
    out += area(below, {reference[0], reference[1]}) * (top - points[i][2]);
  }
  return out;
}

}  // namespace

double hypervolume(std::vector<Point> points, const Point& reference) {
  for (const Point& p : points)
    base::check(p.size() == reference.size(), "the points of a hypervolume have the objectives of its reference");
  std::erase_if(points, [&](const Point& p) {
    for (std::size_t o = 0; o < p.size(); ++o)
      if (!(p[o] < reference[o])) return true;
    return false;
  });
  points = least(std::move(points));
  return reference.size() == 3 ? slabs(std::move(points), reference) : sum_of_exclusive(points, reference);
}

}  // namespace tilescope::experiments

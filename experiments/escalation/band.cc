// SPDX-License-Identifier: Apache-2.0
#include "experiments/escalation/band.h"

#include <algorithm>
#include <cmath>

#include "experiments/escalation/choice.h"

namespace tilescope::experiments {

ControlRatio control_ratio(std::vector<double> ratios, std::size_t population) {
  ControlRatio out;
  out.n = ratios.size();
  out.population = population;
  if (ratios.empty()) return out;
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  out.least = ratios.front();
  out.most = ratios.back();
  out.median = (ratios[(n - 1) / 2] + ratios[n / 2]) / 2;
  if (n < 2) return out;
  const auto all = static_cast<double>(n + 1);
  const auto covered = [&](std::size_t k) { return (all - 2 * static_cast<double>(k)) / all; };
  std::size_t k = 1;
  while (2 * (k + 1) <= n && covered(k + 1) >= kCoverage - 1e-9) ++k;
  out.band = {ratios[k - 1], ratios[n - k]};
  out.coverage_ratio = covered(k);
  return out;
}

ControlRatio control_ratio(const std::vector<JudgedPoint>& points) {
  std::vector<double> ratios;
  for (const JudgedPoint& p : points)
    if (p.chosen == Chosen::kControl && p.simulated_us && p.predicted_us && *p.predicted_us > 0)
      ratios.push_back(*p.simulated_us / *p.predicted_us);
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].chosen == Chosen::kFront) front.push_back(i);
  ControlRatio out = control_ratio(std::move(ratios), population_of(points, front).size());
  const bool open = std::any_of(points.begin(), points.end(),
                                [](const JudgedPoint& p) { return p.chosen == Chosen::kControl && p.pending; });
  if (open) {
    out.band.reset();
    out.coverage_ratio = 0;
  }
  return out;
}

std::optional<RatioBand> band_of(const JudgedPoint& point, const ControlRatio& control) {
  if (!point.band || !control.band) return point.band ? point.band : control.band;
  return RatioBand{std::min(point.band->low, control.band->low), std::max(point.band->high, control.band->high)};
}

std::optional<TimeInterval> interval_of(const JudgedPoint& point, const ControlRatio& control) {
  const auto band = band_of(point, control);
  if (!band || !point.predicted_us) return std::nullopt;
  if (!point.simulated_us) return TimeInterval{*point.predicted_us * band->low, *point.predicted_us * band->high};
  const double width = std::sqrt(band->high / band->low);
  return TimeInterval{*point.simulated_us / width, *point.simulated_us * width};
}

std::vector<std::optional<TimeInterval>> intervals_of(const std::vector<JudgedPoint>& points,
                                                      const ControlRatio& control) {
  std::vector<std::optional<TimeInterval>> out;
  for (const JudgedPoint& p : points) out.push_back(interval_of(p, control));
  return out;
}

bool is_faster(const std::optional<TimeInterval>& a, const std::optional<TimeInterval>& b) {
  return a && b && a->high_us < b->low_us;
}

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#include "experiments/multi_fidelity/band.h"

#include <algorithm>
#include <cmath>

#include "experiments/multi_fidelity/choice.h"

namespace tilescope::experiments {

ValidationRatio validation_ratio(std::vector<double> ratios, std::size_t population) {
  ValidationRatio out;
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

ValidationRatio validation_ratio(const std::vector<JudgedPoint>& points) {
  std::vector<double> ratios;
  for (const JudgedPoint& p : points)
    if (p.chosen == Chosen::kValidation && p.simulated_us && p.predicted_us && *p.predicted_us > 0)
      ratios.push_back(*p.simulated_us / *p.predicted_us);
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].chosen == Chosen::kFront) front.push_back(i);
  ValidationRatio out = validation_ratio(std::move(ratios), population_of(points, front).size());
  const bool open = std::any_of(points.begin(), points.end(),
                                [](const JudgedPoint& p) { return p.chosen == Chosen::kValidation && p.pending; });
  if (open) {
    out.band.reset();
    out.coverage_ratio = 0;
  }
  return out;
}

std::optional<RatioBand> band_of(const JudgedPoint& point, const ValidationRatio& validation) {
  if (!point.band || !validation.band) return point.band ? point.band : validation.band;
  return RatioBand{std::min(point.band->low, validation.band->low), std::max(point.band->high, validation.band->high)};
}

std::optional<TimeInterval> interval_of(const JudgedPoint& point, const ValidationRatio& validation) {
  const auto band = band_of(point, validation);
  if (!band || !point.predicted_us) return std::nullopt;
  if (!point.simulated_us) return TimeInterval{*point.predicted_us * band->low, *point.predicted_us * band->high};
  const double width = std::sqrt(band->high / band->low);
  return TimeInterval{*point.simulated_us / width, *point.simulated_us * width};
}

std::vector<std::optional<TimeInterval>> intervals_of(const std::vector<JudgedPoint>& points,
                                                      const ValidationRatio& validation) {
  std::vector<std::optional<TimeInterval>> out;
  for (const JudgedPoint& p : points) out.push_back(interval_of(p, validation));
  return out;
}

bool is_faster(const std::optional<TimeInterval>& a, const std::optional<TimeInterval>& b) {
  return a && b && a->high_us < b->low_us;
}

}  // namespace tilescope::experiments

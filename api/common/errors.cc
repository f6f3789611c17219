// SPDX-License-Identifier: Apache-2.0
#include "api/common/errors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"

namespace tilescope::api {
namespace {

// Of an even number of values, the mean of the two in the middle.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

ErrorStatistics statistics_of(const std::vector<double>& errors) {
  ErrorStatistics s;
  s.compared = errors.size();
  if (errors.empty()) return s;
  const auto n = static_cast<double>(errors.size());
  std::vector<double> magnitudes;
  for (const double e : errors) {
    magnitudes.push_back(std::abs(e));
    s.mape_ratio += std::abs(e) / n;
    s.bias_ratio += e / n;
  }
  const std::size_t nine_of_ten = (magnitudes.size() * 9 + 9) / 10 - 1;
  std::nth_element(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(nine_of_ten), magnitudes.end());
  s.p90_error_ratio = magnitudes[nine_of_ten];
  s.median_error_ratio = median(std::move(magnitudes));
  return s;
}

std::vector<ErrorsOfKind> errors_by_kind(const std::vector<ErrorOfKind>& errors) {
  std::map<std::string, std::vector<double>> kinds;
  std::vector<double> all;
  for (const ErrorOfKind& e : errors) {
    kinds[e.kind].push_back(e.error_ratio);
    all.push_back(e.error_ratio);
  }
  std::vector<ErrorsOfKind> out;
  for (const auto& [kind, of_kind] : kinds) out.push_back({kind, statistics_of(of_kind)});
  if (!all.empty()) out.push_back({"all", statistics_of(all)});
  return out;
}

double quantile_of(std::vector<Weighted> values, double share) {
  base::check(!values.empty(), "quantiles are of some values");
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double all = 0, up_to = 0;
  for (const Weighted& v : values) all += v.weight;
  for (const Weighted& v : values)
    // Sums of thirds are no exact one.
    if ((up_to += v.weight) >= share * all * (1 - 1e-12)) return v.value;
  return values.back().value;
}

}  // namespace tilescope::api

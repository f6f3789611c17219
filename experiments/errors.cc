#include "experiments/errors.h"

#include <algorithm>
#include <cmath>

namespace tilescope::experiments {
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
  s.median_error_ratio = median(std::move(magnitudes));
  return s;
}

}  // namespace tilescope::experiments

#pragma once
// How far predicted times are off: statistics of errors, each the predicted time over the true one, minus one.

#include <cstddef>
#include <vector>

namespace tilescope::experiments {

struct ErrorStatistics {
  std::size_t compared = 0;
  double mape_ratio = 0;          // mean of the magnitudes
  double median_error_ratio = 0;  // median of the magnitudes
  double bias_ratio = 0;          // mean
};

ErrorStatistics statistics_of(const std::vector<double>& errors);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error statistics of predicted times. An error is the predicted time over the true one, minus one.

#include <cstddef>
#include <string>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

struct ErrorStatistics {
  std::size_t compared = 0;
  double mape_ratio = 0;          // mean of the magnitudes
  double median_error_ratio = 0;  // median of the magnitudes
  double p90_error_ratio = 0;     // 90th percentile of the magnitudes
  double bias_ratio = 0;          // mean, with sign
};

ErrorStatistics statistics_of(const std::vector<double>& errors);

// Error statistics by kind of operator, in alphabetical order, then "all"; empty if there are no errors.
struct ErrorOfKind {
  std::string kind;
  double error_ratio = 0;
};
struct ErrorsOfKind {
  std::string kind;
  ErrorStatistics errors;
};
std::vector<ErrorsOfKind> errors_by_kind(const std::vector<ErrorOfKind>& errors);

// A value and its weight.
struct Weighted {
  double value = 0, weight = 1;
};
// Weighted quantile: the smallest value such that the values up to it hold at least `share` of all weight. `values`
// must not be empty.
double quantile_of(std::vector<Weighted> values, double share);

// The entry `compared` and, unless that is 0, `mape_ratio`, `median_error_ratio`, `p90_error_ratio` and `bias_ratio`.
base::Map to_entries(const ErrorStatistics& s);

}  // namespace tilescope::api

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far predicted times are off: statistics of errors, each the predicted time over the true one, minus one.

#include <cstddef>
#include <string>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

struct ErrorStatistics {
  std::size_t compared = 0;
  double mape_ratio = 0;          // mean of the magnitudes
  double median_error_ratio = 0;  // median of the magnitudes
  double p90_error_ratio = 0;     // what nine of ten magnitudes do not exceed
  double bias_ratio = 0;          // mean
};

ErrorStatistics statistics_of(const std::vector<double>& errors);

// The same by kind of operator, in alphabetical order, and "all" at the end; empty where nothing was compared.
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
// The least of the values that at least that share of all weight does not exceed.
double quantile_of(std::vector<Weighted> values, double share);

// `compared` and, where something was, `mape_ratio`, `median_error_ratio`, `p90_error_ratio` and `bias_ratio`.
base::Map to_entries(const ErrorStatistics& s);

}  // namespace tilescope::api

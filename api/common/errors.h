// SPDX-License-Identifier: Apache-2.0
#pragma once
// Error statistics of predicted times. An error is the predicted time over the true one, minus one.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/describe.h"

namespace tilescope::api {

using base::to_entries;

struct ErrorStatistics {
  std::size_t compared = 0;
  double mape_ratio = 0, median_error_ratio = 0, p90_error_ratio = 0, bias_ratio = 0;
};

template <class V>
void describe(V& v, base::Is<ErrorStatistics> auto& s) {
  const auto if_any = [&](double ratio) { return s.compared > 0 ? std::optional(ratio) : std::nullopt; };
  v.field({"compared", "", "Rows that have both times."}, s.compared);
  v.field({"mape_ratio", "", "Mean of the errors without their signs."}, if_any(s.mape_ratio));
  v.field({"median_error_ratio", "", "Median of the errors without their signs."}, if_any(s.median_error_ratio));
  v.field({"p90_error_ratio", "", "0.9 quantile of the errors without their signs."}, if_any(s.p90_error_ratio));
  v.field({"bias_ratio", "", "Mean of the errors with their signs."}, if_any(s.bias_ratio));
}

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

}  // namespace tilescope::api

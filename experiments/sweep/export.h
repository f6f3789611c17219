// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope export`: a stored sweep as a table, one row an operator at a point, in the order of points and operators
// and not of computing: the same sweep gives the same text.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

enum class TableForm { kCsv, kJsonLines };

// One operator of a sweep at one of its points.
struct OperatorAtPoint {
  std::string id, kind;
  double weight = 1;
  std::optional<double> us;           // of the time that the sweep asked for: predicted or simulated
  std::optional<double> share_ratio;  // of the point's weighted total
  std::string bound_by;
  std::string error;  // why there is no time
};

// A point's operators, and the sum of weight times time; nothing before all have one.
struct OperatorsAtPoint {
  StoredPoint point;
  std::vector<OperatorAtPoint> operators;
  std::optional<double> weighted_us;
};

// The operators of the point of that number; nothing after an error at `--rows`: no such point, or it is refused.
std::optional<OperatorsAtPoint> operators_at(const Store& store, const StoredSweep& sweep, std::size_t point,
                                             base::Diagnostics& diags);

// {"sweep","point","base","at":{AXIS: value},"weighted_us","operators":[{"id","kind","weight","time_us","share_ratio",
// "bottleneck","error"}]}.
base::Value to_document(const OperatorsAtPoint& at, const StoredSweep& sweep);

// A point's operators as a table of their own, in a file that appears whole or not at all; how many there are.
std::size_t write_table_file(const OperatorsAtPoint& at, const StoredSweep& sweep, TableForm form,
                             const std::string& path);

// Writes the table piece by piece; how many rows it has. CSV has a line of names and empty cells where nothing is
// known; JSON lines leave such keys out. Names of columns bear their units.
std::size_t write_table(const Store& store, const StoredSweep& sweep, TableForm form,
                        const std::function<void(std::string_view)>& write);

// The same into a file, which appears whole or not at all.
std::size_t write_table_file(const Store& store, const StoredSweep& sweep, TableForm form, const std::string& path);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope export`: a stored sweep as a table with one row for each operator at each point. Rows are in the order of
// points and operators, not of their computation, so that the same sweep gives the same text.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cells.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

enum class TableForm { kCsv, kJsonLines };

// One operator of a sweep at one of its points.
struct OperatorAtPoint {
  std::string id, kind;
  double weight = 1;
  std::optional<double> us;           // the time that the sweep asked for: predicted or simulated
  std::optional<double> share_ratio;  // of the point's weighted total
  std::string bound_by;
  std::string error;  // why there is no time
};

// A point's operators, and the sum of weight times time; nullopt until all operators have one.
struct OperatorsAtPoint {
  StoredPoint point;
  std::vector<OperatorAtPoint> operators;
  std::optional<double> weighted_us;
};

// The operators of the point of that number. Returns nullopt after an error at `--rows`: there is no such point, or it
// is refused.
std::optional<OperatorsAtPoint> operators_at(const Store& store, const StoredSweep& sweep, std::size_t point,
                                             base::Diagnostics& diags);

// {"sweep","point","base","at":{AXIS: value},"weighted_us","operators":[{"id","kind","weight","time_us","share_ratio",
// "bottleneck","error"}]}.
base::Value to_document(const OperatorsAtPoint& at, const StoredSweep& sweep);

// Writes a point's operators as a separate table to a file, atomically. Returns the number of operators.
std::size_t write_table_file(const OperatorsAtPoint& at, const StoredSweep& sweep, TableForm form,
                             const std::string& path);

// A column of the table of all rows; its name ends in its unit.
struct TableColumn {
  std::string name, unit, about;
};

// Calls `visit` for every row in turn, with the columns that are known by then and the cells of the first ones of them;
// cells of unknown values are null. A row may add columns.
using VisitTableRow =
    std::function<void(const std::vector<TableColumn>& columns, const std::vector<base::Value>& cells)>;
void each_table_row(const Store& store, const StoredSweep& sweep, const VisitTableRow& visit);

// The whole table as columns, for readers of millions of rows: the same cells. Each of `threads` threads reads a part
// by its own connection; 0: as many as there are processors and rows for.
base::Cells table_cells(const Store& store, const StoredSweep& sweep, std::size_t threads = 0);

// Writes the table piece by piece and returns its number of rows. CSV has a header line, and empty cells for unknown
// values; JSON lines leave out such keys. Column names contain their units.
std::size_t write_table(const Store& store, const StoredSweep& sweep, TableForm form,
                        const std::function<void(std::string_view)>& write);

// The same to a file, atomically.
std::size_t write_table_file(const Store& store, const StoredSweep& sweep, TableForm form, const std::string& path);

}  // namespace tilescope::experiments

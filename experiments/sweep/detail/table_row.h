// SPDX-License-Identifier: Apache-2.0
#pragma once
// One row of a stored sweep's table as cells, which may add columns. For the .cc files of experiments/sweep alone.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/prediction.h"
#include "base/describe.h"
#include "base/document.h"
#include "experiments/objectives/stored.h"
#include "experiments/store/store.h"
#include "experiments/sweep/export.h"

namespace tilescope::experiments {

// A whole number as an integer.
base::Value number_cell(double v);

// Whether a column is of a nested element of a prediction, which some rows have and others lack.
inline bool is_nested(std::string_view column) { return column.find('.') != std::string_view::npos; }

class TableRow {
 public:
  TableRow(const Store& store, const StoredSweep& sweep);

  const std::vector<TableColumn>& columns() const { return columns_; }
  // By the places of the columns; valid until the next call of any of the following. Cells of unknown values are null.
  const std::vector<base::Value>& cells(const StoredPoint& p, const StoredWorkload& w, const StoredRow* r);
  // What all rows of a point have, and of an operator; all other cells are null.
  const std::vector<base::Value>& point_cells(const StoredPoint& p);
  const std::vector<base::Value>& workload_cells(const StoredWorkload& w);

 private:
  enum class Elements { kSingle, kNested };

  void clear();
  void put(const base::Column& column, base::Value v);
  void put_point(const StoredPoint& p);
  void put_objectives(const Judgement& j);
  void put_workload(const StoredWorkload& w);
  void put_elements(const api::Prediction& p, bool known, Elements which);
  void put_chosen(const StoredPoint& p);
  void put_chip(const StoredPoint& p);

  const StoredSweep& sweep_;
  std::vector<TableColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::string> axes_;              // names of their columns
  std::vector<Judgement> judgements_;          // by point, where the sweep has objectives
  std::map<std::size_t, std::size_t> points_;  // places of points by their numbers, likewise
  std::vector<ShownObjective> objectives_;
  std::vector<base::Value> cells_;
};

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What programs compute and move, from which the page draws rooflines. For the .cc files of experiments/ alone.

#include <string>
#include <string_view>
#include <vector>

#include "api/common/prediction.h"
#include "experiments/report/detail/columns.h"

namespace tilescope::experiments {

// Rows that do the same have one entry.
class WorkColumns {
 public:
  // The next row; null where it has no prediction.
  void add(const api::Prediction* row);
  // Whether some row has counts.
  bool any() const { return !flop_.empty(); }
  // {"flop": {INSTRUCTION: COLUMN}, "bytes": {LEVEL: COLUMN}, "codes"}, docs/json.md, REPORT.
  base::Value take();

 private:
  struct Column {
    std::string name;
    base::List values;
  };
  static void set(std::vector<Column>& columns, std::string_view name, std::size_t at, double value);

  Coder<std::string> seen_;
  std::vector<Column> flop_, bytes_;
};

}  // namespace tilescope::experiments

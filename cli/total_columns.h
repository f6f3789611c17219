// SPDX-License-Identifier: Apache-2.0
#pragma once
// The columns that all tables of operators have: how often each occurs, its share of the time, and the totals below.

#include <cstddef>
#include <string>
#include <vector>

#include "api/common/totals.h"
#include "cli/table.h"

namespace tilescope::cli {

// "9 operators, 12 with their counts: predicted 12.3 ms, 182 TFLOP/s; bound by dram 61 %, arithmetic 39 %", in a line
// of its own.
void print_totals(const api::Totals& totals);

// Adds the columns that all lists of operators have: how often each occurs (if one occurs more than once), its share of
// the time and its operations per second; and the totals below the rows.
class TotalColumns {
 public:
  explicit TotalColumns(std::vector<api::TimedOperator> operators);
  template <class Row>
  explicit TotalColumns(const std::vector<Row>& rows) : TotalColumns(api::timed_operators(rows)) {}

  // After the operator's name: `count`.
  void add_count(std::vector<Column>& columns) const;
  // After its time: `share` and `FLOP/s`.
  void add_rates(std::vector<Column>& columns) const;

  void add_count(std::vector<std::string>& row, std::size_t i) const;
  void add_rates(std::vector<std::string>& row, std::size_t i) const;

  const api::Totals& totals() const { return totals_; }
  // "total", or "total of 8 of 10" where some operators have no time.
  std::string name() const;
  std::string count() const;  // of all
  bool counted() const { return counted_; }
  std::string rate() const;      // of all
  std::string bound_by() const;  // "dram 61 %": what bounds most of the time

 private:
  std::vector<api::TimedOperator> operators_;
  api::Totals totals_;
  bool counted_ = false;
};

}  // namespace tilescope::cli

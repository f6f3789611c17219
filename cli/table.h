// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables for people on stdout.

#include <string>
#include <vector>

#include "api/common/prediction.h"

namespace tilescope::cli {

struct Column {
  std::string title;
  bool right = false;  // numbers, aligned to the right
  int rank = 0;        // on a narrow terminal, columns of the highest rank are left out first; 0 never is
};

// A table is as wide as its contents, except on a terminal that is narrower ($COLUMNS, or what the terminal reports).
// There it leaves out columns by rank, with a note below the table, and then breaks texts at blanks. A number is never
// cut.
class Table {
 public:
  enum Titles { kTitles, kNoTitles };
  explicit Table(std::vector<Column> columns, Titles titles = kTitles);

  // Adds one row; more cells than columns are a bug.
  void add(std::vector<std::string> cells);
  void print() const;

 private:
  std::vector<Column> columns_;
  Titles titles_;
  std::vector<std::vector<std::string>> rows_;
};

// The titles of all columns printed so far, each once.
std::vector<std::string> printed_titles();

// Times and ratios in three digits, with the unit that keeps them readable: "12.3 us", "4.56 ms".
std::string time_text(double us);
// "1.1 to 1.4 ms", "980 us to 1.02 ms".
std::string times_text(double low_us, double high_us);
// Likewise for a band of times, with a "~" before it if it was not measured for this chip, kind and element type.
std::string band_text(const api::TimeBand& band);
// "12.3 %", for values without a sign.
std::string share_text(double ratio);
// "+12 %", "-3.4 %".
std::string percent_text(double ratio);
// "12.3 uJ", "4.56 mJ".
std::string energy_text(double uj);
// "12.3 TFLOP/s", "456 GFLOP/s".
std::string rate_text(double operations_per_second);

}  // namespace tilescope::cli

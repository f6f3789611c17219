// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of a store that SQLite reads and that are not what was written, named as a user knows them. For the .cc files
// of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "experiments/store/store.h"

namespace tilescope::experiments {

// A column, empty where it is not known, that holds something else than what was written.
class CorruptStore : public std::exception {
 public:
  explicit CorruptStore(std::string column = {}) : column_(std::move(column)) {}
  const char* what() const noexcept override { return "a column holds something else than what was written"; }
  const std::string& column() const { return column_; }

 private:
  std::string column_;
};

// A row of the table `rows`, by the numbers that its contents have in the file.
struct RowIds {
  std::int64_t chip = 0, request = 0, workload = 0;
};

// SQL, true of a row of that name whose time is no finite number above 0, which SQLite sums as it likes; NULL or false
// of others. It takes a tenth of the time of asking for types.
std::string has_no_time(const std::string& row);

// Throw DamagedError: which value of which store, and how to have it anew. `schema` is that of the store where it is
// attached to another one.
[[noreturn]] void throw_damaged_row(SQLite::Database& file, const std::string& path, const RowIds& row,
                                    const std::string& column, const std::string& schema = "main");
// Of the first row whose has_no_time, where there is one: of all that the store has, or of those of a sweep.
void throw_if_damaged_row(SQLite::Database& file, const std::string& path, const std::string& schema);
void throw_if_damaged_row(SQLite::Database& file, const std::string& path, std::int64_t sweep);
// Of a point or a sweep, which sweeping again writes anew.
[[noreturn]] void throw_damaged_sweep(const std::string& path, const std::string& whose, const std::string& column);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of a store as its file has them, point after point, by SQLite's own interface: SQLiteCpp's objects for columns
// take several times as long as the columns. For the .cc files of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/store/store.h"

namespace tilescope::experiments {

class PackedRows {
 public:
  // `columns` names the single elements of a prediction, `singles` of them.
  PackedRows(SQLite::Database& file, std::int64_t sweep, int singles, const std::string& columns);

  // Turns to a point; false where its rows are to be read whole, for a simulation stands beside them.
  bool begin(std::size_t ordinal);
  enum class Found { kNone, kPacked, kWhole };
  // Reads the point's row of a workload; workloads come in their order.
  Found read(std::size_t workload);
  // What was read last; null where there is no row.
  const PackedRow* row() const { return found_ == Found::kPacked ? &row_ : nullptr; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

  Prepared prepared(const std::string& sql);
  bool step(sqlite3_stmt* s);
  Found unpack();
  const std::string& program(std::int64_t id);

  SQLite::Database& file_;
  int singles_;
  std::vector<std::int64_t> workloads_;  // by their places in the sweep
  bool ascending_ = true;                // as the file has their rows
  Prepared points_, rows_, programs_;
  std::int64_t chip_ = 0, request_ = 0;
  bool there_ = false;  // rows_ stands on a row
  bool any_ = false;    // the point can have rows
  Found found_ = Found::kNone;
  PackedRow row_;
  std::unordered_map<std::int64_t, std::string> known_programs_;
};

}  // namespace tilescope::experiments

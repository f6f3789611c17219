// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/corrupt_store.h"

#include <limits>

#include <fmt/format.h>

#include "experiments/common/shell.h"

namespace tilescope::experiments {
namespace {

using SQLite::Statement;

constexpr const char* kNoLonger = "is no longer what was written";

// "point 5 on v100, operator mm, of 'Banks'", or the chip of a row that no sweep of the store asks for today.
std::string name_of_row(SQLite::Database& file, const RowIds& row, const std::string& schema) {
  Statement s(file,
              fmt::format("SELECT p.ordinal, p.base, w.name, t.title FROM {0}.points p JOIN {0}.sweeps t ON t.id = "
                          "p.sweep JOIN {0}.sweep_workloads w ON w.sweep = p.sweep WHERE p.chip = ?1 AND ?2 IN "
                          "(p.request, p.simulated_request) AND w.workload = ?3 ORDER BY t.id, p.ordinal LIMIT 1",
                          schema));
  s.bind(1, row.chip);
  s.bind(2, row.request);
  s.bind(3, row.workload);
  if (s.executeStep())
    return fmt::format("point {} on {}, operator {}, of '{}'", s.getColumn(0).getString(), s.getColumn(1).getString(),
                       s.getColumn(2).getString(), s.getColumn(3).getString());
  Statement chip(file, fmt::format("SELECT name, hash FROM {}.chips WHERE id = ?", schema));
  chip.bind(1, row.chip);
  if (!chip.executeStep()) return "a chip that is not there";
  return fmt::format("{} (chip {}), which no sweep asks for today", chip.getColumn(0).getString(),
                     chip.getColumn(1).getString());
}

// Texts and blobs sort behind all numbers.
std::string is_no_time(const std::string& column) {
  return fmt::format("({0} <= 0 OR {0} > {1})", column, std::numeric_limits<double>::max());
}

std::string damaged_rows(const std::string& from) {
  return fmt::format(
      "SELECT r.chip, r.request, r.workload, CASE WHEN {} THEN 'predicted_us' ELSE 'simulated_us' END FROM {} ({}) "
      "LIMIT 1",
      is_no_time("r.predicted_us"), from, has_no_time("r"));
}

void throw_if_any(Statement& rows, SQLite::Database& file, const std::string& path, const std::string& schema) {
  if (!rows.executeStep()) return;
  throw_damaged_row(file, path,
                    {rows.getColumn(0).getInt64(), rows.getColumn(1).getInt64(), rows.getColumn(2).getInt64()},
                    rows.getColumn(3).getString(), schema);
}

}  // namespace

std::string has_no_time(const std::string& row) {
  return fmt::format("({} OR {})", is_no_time(row + ".predicted_us"), is_no_time(row + ".simulated_us"));
}

void throw_damaged_row(SQLite::Database& file, const std::string& path, const RowIds& row, const std::string& column,
                       const std::string& schema) {
  throw DamagedError(fmt::format(
      "{}: {} in the row of {} {}; delete the row and sweep again: sqlite3 {} 'DELETE FROM rows WHERE "
      "chip = {} AND request = {} AND workload = {}'",
      path, column, name_of_row(file, row, schema), kNoLonger, shell_word(path), row.chip, row.request, row.workload));
}

void throw_if_damaged_row(SQLite::Database& file, const std::string& path, const std::string& schema) {
  Statement s(file, damaged_rows(schema + ".rows r WHERE"));
  throw_if_any(s, file, path, schema);
}

void throw_if_damaged_row(SQLite::Database& file, const std::string& path, std::int64_t sweep) {
  Statement s(file, damaged_rows("points p JOIN sweep_workloads w ON w.sweep = p.sweep JOIN rows r ON r.chip = p.chip "
                                 "AND r.request IN (p.request, p.simulated_request) AND r.workload = w.workload WHERE "
                                 "p.sweep = ? AND"));
  s.bind(1, sweep);
  throw_if_any(s, file, path, "main");
}

void throw_damaged_sweep(const std::string& path, const std::string& whose, const std::string& column) {
  throw DamagedError(
      fmt::format("{}: {} of {} {}; the same sweep into this store writes it anew", path, column, whose, kNoLonger));
}

void throw_damaged_content(const std::string& path, const std::string& what) {
  throw DamagedError(fmt::format("{}: {} {}; sweep into another store", path, what, kNoLonger));
}

}  // namespace tilescope::experiments

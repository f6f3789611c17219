// SPDX-License-Identifier: Apache-2.0
#include "experiments/store/detail/packed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilescope::experiments {
namespace {

using Cell = PackedRow::Cell;

static_assert(std::endian::native == std::endian::little, "the store's numbers are copied as they are");

std::string_view text_at(sqlite3_stmt* s, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(s, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(s, column)));
}

// False for a column of a type that no element has.
bool read_cell(sqlite3_stmt* s, int column, Cell& out) {
  switch (sqlite3_column_type(s, column)) {
    case SQLITE_NULL:
      out.type = Cell::Type::kNone;
      return true;
    case SQLITE_INTEGER:
      out.type = Cell::Type::kInteger;
      out.number = static_cast<double>(sqlite3_column_int64(s, column));
      return true;
    case SQLITE_FLOAT:
      out.type = Cell::Type::kReal;
      out.number = sqlite3_column_double(s, column);
      return true;
    case SQLITE_TEXT:
      out.type = Cell::Type::kText;
      out.text = text_at(s, column);
      return true;
    default:
      return false;
  }
}

// Columns of the statement over rows, behind the single elements.
enum Behind { kNames, kNumbers, kSimulated, kMeasured, kProgram, kError };

}  // namespace

PackedRows::PackedRows(SQLite::Database& file, std::int64_t sweep, int singles, const std::string& columns)
    : file_(file), singles_(singles) {
  const Prepared of_sweep = prepared("SELECT workload FROM sweep_workloads WHERE sweep = ? ORDER BY ordinal");
  sqlite3_bind_int64(of_sweep.get(), 1, sweep);
  while (step(of_sweep.get())) workloads_.push_back(sqlite3_column_int64(of_sweep.get(), 0));
  ascending_ = std::adjacent_find(workloads_.begin(), workloads_.end(), std::greater_equal<>()) == workloads_.end();
  points_ = prepared("SELECT chip, request, simulated_request FROM points WHERE sweep = ? AND ordinal = ?");
  sqlite3_bind_int64(points_.get(), 1, sweep);
  rows_ = prepared(
      fmt::format("SELECT workload, {}, names, numbers, simulation IS NOT NULL, measured_us, program, error FROM rows "
                  "WHERE chip = ? AND request = ?{} ORDER BY workload",
                  columns, ascending_ ? "" : " AND workload = ?"));
  programs_ = prepared("SELECT hash FROM programs WHERE id = ?");
  row_.singles.resize(static_cast<std::size_t>(singles));
}

PackedRows::Prepared PackedRows::prepared(const std::string& sql) {
  sqlite3_stmt* s = nullptr;
  const int status = sqlite3_prepare_v2(file_.getHandle(), sql.c_str(), -1, &s, nullptr);
  Prepared out(s);
  if (status != SQLITE_OK) throw SQLite::Exception(file_.getHandle(), status);
  return out;
}

bool PackedRows::step(sqlite3_stmt* s) {
  const int status = sqlite3_step(s);
  if (status != SQLITE_ROW && status != SQLITE_DONE) throw SQLite::Exception(file_.getHandle(), status);
  return status == SQLITE_ROW;
}

bool PackedRows::begin(std::size_t ordinal) {
  sqlite3_stmt* p = points_.get();
  sqlite3_reset(p);
  sqlite3_bind_int64(p, 2, static_cast<std::int64_t>(ordinal));
  if (!step(p)) return false;
  any_ = sqlite3_column_type(p, 0) == SQLITE_INTEGER && sqlite3_column_type(p, 1) == SQLITE_INTEGER;
  chip_ = sqlite3_column_int64(p, 0);
  request_ = sqlite3_column_int64(p, 1);
  there_ = false;
  if (any_) {
    sqlite3_reset(rows_.get());
    sqlite3_bind_int64(rows_.get(), 1, chip_);
    sqlite3_bind_int64(rows_.get(), 2, request_);
    if (ascending_) there_ = step(rows_.get());
  }
  return sqlite3_column_type(p, 2) == SQLITE_NULL;
}

PackedRows::Found PackedRows::read(std::size_t workload) {
  const std::int64_t wanted = workloads_[workload];
  if (any_ && !ascending_) {
    sqlite3_reset(rows_.get());
    sqlite3_bind_int64(rows_.get(), 3, wanted);
    there_ = step(rows_.get());
  }
  // The store may have rows of workloads that other sweeps ask for.
  while (there_ && sqlite3_column_int64(rows_.get(), 0) < wanted) there_ = step(rows_.get());
  found_ = there_ && sqlite3_column_int64(rows_.get(), 0) == wanted ? unpack() : Found::kNone;
  return found_;
}

PackedRows::Found PackedRows::unpack() {
  sqlite3_stmt* s = rows_.get();
  for (int c = 0; c < singles_; ++c)
    if (!read_cell(s, c + 1, row_.singles[static_cast<std::size_t>(c)])) return Found::kWhole;
  const int behind = 1 + singles_;
  if (sqlite3_column_int(s, behind + kSimulated) != 0) return Found::kWhole;
  row_.names = sqlite3_column_int64(s, behind + kNames);
  row_.numbers.clear();
  if (sqlite3_column_type(s, behind + kNumbers) == SQLITE_BLOB) {
    const void* bytes = sqlite3_column_blob(s, behind + kNumbers);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(s, behind + kNumbers));
    if (size % sizeof(double) != 0) return Found::kWhole;
    row_.numbers.resize(size / sizeof(double));
    if (size != 0) std::memcpy(row_.numbers.data(), bytes, size);
    for (const double v : row_.numbers)
      if (!std::isfinite(v)) return Found::kWhole;
  }
  Cell measured;
  if (!read_cell(s, behind + kMeasured, measured) || measured.type == Cell::Type::kText ||
      (measured.type != Cell::Type::kNone && !(measured.number > 0 && std::isfinite(measured.number))))
    return Found::kWhole;
  row_.measured_us = measured.type == Cell::Type::kNone ? std::nullopt : std::optional(measured.number);
  row_.program = sqlite3_column_type(s, behind + kProgram) == SQLITE_NULL
                     ? std::string_view()
                     : std::string_view(program(sqlite3_column_int64(s, behind + kProgram)));
  const int error = sqlite3_column_type(s, behind + kError);
  if (error != SQLITE_NULL && error != SQLITE_TEXT) return Found::kWhole;
  row_.error = text_at(s, behind + kError);
  return Found::kPacked;
}

const std::string& PackedRows::program(std::int64_t id) {
  const auto known = known_programs_.find(id);
  if (known != known_programs_.end()) return known->second;
  sqlite3_reset(programs_.get());
  sqlite3_bind_int64(programs_.get(), 1, id);
  std::string hash(step(programs_.get()) ? text_at(programs_.get(), 0) : std::string_view());
  return known_programs_.emplace(id, std::move(hash)).first->second;
}

}  // namespace tilescope::experiments

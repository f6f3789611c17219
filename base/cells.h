// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table as columns of equal length, for readers of millions of rows: numbers as numbers, equal texts kept once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/describe.h"
#include "base/document.h"

namespace tilescope::base {

enum class CellKind : std::uint8_t { kAbsent, kNumber, kInteger, kTruth, kText, kDocument };

// One column. `numbers` and `texts_at` may be shorter than the table: cells behind them are absent.
struct CellColumn {
  std::string name, unit, about;
  unsigned seen = 0;                   // kinds that were put, a bit each
  std::vector<CellKind> kinds;         // only where several were seen; else a cell is of that kind, or absent
  std::vector<double> numbers;         // NaN where a cell is none
  std::vector<std::int32_t> texts_at;  // into `texts`, -1 where a cell is none
  std::vector<std::string> texts;

  CellKind kind(std::size_t row) const;
  // NaN where the cell is none.
  double number(std::size_t row) const;
  // The text of a cell, or null.
  const char* text(std::size_t row) const;
};

// Columns in the order in which rows first have them.
class Cells {
 public:
  // Rows that will be added, so that columns grow once.
  explicit Cells(std::size_t expected_rows = 0) : expected_rows_(expected_rows) {}

  // Begins a row, in which every cell is absent.
  void add_row();
  // Sets a cell of the last row; a null value makes the column alone.
  void put(const Column& column, Value value);

  std::size_t rows() const { return rows_; }
  const std::vector<CellColumn>& columns() const { return columns_; }
  // The column of that name; the number of columns if there is none.
  std::size_t find(std::string_view name) const;

  // The same for who knows the column's place.
  void put_number(std::size_t place, CellKind kind, double value) {
    CellColumn& c = columns_[place];
    if (c.seen == 1U << static_cast<unsigned>(kind) && c.numbers.size() + 1 == rows_)
      c.numbers.push_back(value);
    else
      put_first_number(c, kind, value);
  }
  void put_text(std::size_t place, CellKind kind, std::string_view text) {
    put_text_at(place, kind, index_of(place, text));
  }
  // The index of a text of the column, which need not have it yet.
  std::int32_t index_of(std::size_t place, std::string_view text);
  void put_text_at(std::size_t place, CellKind kind, std::int32_t index) {
    CellColumn& c = columns_[place];
    if (c.seen == 1U << static_cast<unsigned>(kind) && c.texts_at.size() + 1 == rows_)
      c.texts_at.push_back(index);
    else
      put_first_text(c, kind, index);
  }

  // Adds the rows of another table behind the own ones, and the columns that only it has behind the own ones.
  void append(const Cells& other);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Indices = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

  std::size_t place_of(const Column& column);
  // Sets a cell whose kind the column did not have, or that follows absent cells.
  void put_first_number(CellColumn& column, CellKind kind, double value);
  void put_first_text(CellColumn& column, CellKind kind, std::int32_t index);
  // Notes the kind of the column's cell in the last row.
  void note(CellColumn& column, CellKind kind);
  // Adds the cells of another table's column behind absent ones, up to the row where that table begins.
  void append_numbers(CellColumn& to, const CellColumn& from);
  void append_texts(std::size_t place, const CellColumn& from);
  // Writes out the kinds of all cells where the two together have several, of which `from` has `rows`.
  void append_kinds(CellColumn& to, const CellColumn& from, std::size_t rows);

  std::size_t expected_rows_;
  std::vector<CellColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<Indices> indices_;  // of texts, by column
  std::size_t rows_ = 0;
  std::size_t next_ = 0;  // the column behind the last one that was set, which most often is set next
};

}  // namespace tilescope::base

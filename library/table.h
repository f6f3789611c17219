// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables that answer questions: rows that are described once (base/describe.h), seen as columns.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "base/document.h"

namespace tilescope::library {

enum class Kind : std::uint8_t { kAbsent, kNumber, kInteger, kTruth, kText, kDocument };

// One column. Equal texts are kept once.
struct CellColumn {
  std::string name, unit, about;
  std::vector<Kind> kinds;
  unsigned seen = 0;                     // kinds that were put, a bit each
  std::vector<double> numbers;           // NaN where a cell is none
  std::vector<std::int32_t> text_index;  // into `texts`, -1 where a cell is none; empty in a column without texts
  std::vector<std::string> texts;

  // Sets the kind of the last cell.
  void set(Kind kind);
  // The text of a cell, or null.
  const char* text_at(std::size_t row) const;
};

// Columns of equal length, in the order in which rows first have them.
class Cells {
 public:
  // Begins a row, in which every cell is absent.
  void add_row();
  // Sets a cell of the last row.
  void put(const base::Column& column, base::Value value);

  const std::vector<CellColumn>& columns() const { return columns_; }
  // The column of that name; the number of columns if there is none.
  std::size_t find(std::string_view name) const;

 private:
  std::size_t place_of(const base::Column& column);
  void put_text(CellColumn& column, std::size_t at, Kind kind, std::string text);

  std::vector<CellColumn> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::map<std::string, std::int32_t, std::less<>>> known_texts_;  // by column
  std::size_t rows_ = 0;
  std::size_t next_ = 0;  // the column behind the last one that was set, which most often is set next
};

class Table {
 public:
  virtual ~Table() = default;

  virtual std::size_t rows() const = 0;
  // The number of that name in a row, NaN where there is none. Does not need the cells where it is a single element.
  virtual double number_of(std::size_t row, std::string_view name) const;
  // The whole answer, as the command line prints it with --json.
  virtual base::Value document() const = 0;
  // The table's programs as JSON lines, where it has some.
  virtual std::optional<std::string> programs() const { return std::nullopt; }

  // All rows as columns, made when they are first asked for.
  const Cells& cells() const;

 protected:
  virtual void fill(Cells& cells) const = 0;

 private:
  mutable std::once_flag filled_;
  mutable Cells cells_;
};

// Finds a number among the single elements of a described row.
class NumberFinder {
 public:
  explicit NumberFinder(std::string_view name) : name_(name) {}

  std::optional<double> found() const { return found_; }

  template <class T>
  void field(const base::Column& c, const T& member) {
    if constexpr (base::kIsOptional<T>) {
      if (member) field(c, *member);
    } else if constexpr (std::integral<T> || std::floating_point<T>) {
      if (c.name == name_) found_ = static_cast<double>(member);
    }
  }
  void flag(const base::Column& c, bool member, bool) { field(c, member); }
  template <class Row>
  void part(const Row& row) {
    if constexpr (!base::kIsOptional<Row>) {
      describe(*this, row);
    } else if (row) {
      describe(*this, *row);
    }
  }
  template <class Row>
  void object(const base::Column&, const std::optional<Row>&) {}
  template <class Entry, class Number>
  void numbers(const base::NamedColumn&, const std::vector<Entry>&, Number Entry::*) {}
  template <class Entry>
  void rows(const base::NamedColumn&, const std::vector<Entry>&) {}
  template <class Row>
  void list(const base::Column&, const std::vector<Row>&) {}

 private:
  std::string_view name_;
  std::optional<double> found_;
};

// Rows of one type.
template <class Row>
class RowsTable final : public Table {
 public:
  using Document = std::function<base::Value()>;
  using Programs = std::function<std::string()>;

  // The document is `rows` as a list where none is given.
  explicit RowsTable(std::vector<Row> rows, Document document = {}, Programs programs = {})
      : rows_(std::move(rows)), document_(std::move(document)), programs_(std::move(programs)) {}

  std::size_t rows() const override { return rows_.size(); }
  double number_of(std::size_t row, std::string_view name) const override {
    NumberFinder finder(name);
    describe(finder, rows_[row]);
    return finder.found() ? *finder.found() : Table::number_of(row, name);
  }
  base::Value document() const override { return document_ ? document_() : base::to_list(rows_); }
  std::optional<std::string> programs() const override { return programs_ ? std::optional(programs_()) : std::nullopt; }

 private:
  void fill(Cells& cells) const override {
    for (const Row& r : rows_) {
      cells.add_row();
      base::cells_of(r, [&](const base::Column& c, base::Value v) { cells.put(c, std::move(v)); });
    }
  }

  std::vector<Row> rows_;
  Document document_;
  Programs programs_;
};

// Rows that are no described type: cells alone.
class CellsTable final : public Table {
 public:
  CellsTable(std::size_t rows, Cells cells) : rows_(rows), given_(std::move(cells)) {}

  std::size_t rows() const override { return rows_; }
  base::Value document() const override;

 private:
  void fill(Cells& cells) const override { cells = given_; }

  std::size_t rows_;
  Cells given_;
};

}  // namespace tilescope::library

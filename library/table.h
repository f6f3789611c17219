// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables that answer questions: rows that are described once (base/describe.h), seen as columns.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cells.h"
#include "base/describe.h"
#include "base/document.h"

namespace tilescope::library {

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
  virtual const base::Cells& cells() const;

 protected:
  virtual void fill(base::Cells& cells) const = 0;

 private:
  mutable std::once_flag filled_;
  mutable base::Cells cells_;
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
  void fill(base::Cells& cells) const override {
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
  explicit CellsTable(base::Cells cells) : given_(std::move(cells)) {}

  std::size_t rows() const override { return given_.rows(); }
  const base::Cells& cells() const override { return given_; }
  base::Value document() const override;

 private:
  void fill(base::Cells&) const override {}

  base::Cells given_;
};

}  // namespace tilescope::library

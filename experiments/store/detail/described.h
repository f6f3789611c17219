// SPDX-License-Identifier: Apache-2.0
#pragma once
// A described row (base/describe.h) in the columns of a store: one for each single element, and two for nested ones,
// which are numbers: `names`, a document that most rows of a chip share, and `numbers`. For the .cc files of
// experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/describe.h"
#include "base/single_elements.h"
#include "experiments/store/detail/columns.h"
#include "experiments/store/detail/corrupt_store.h"

namespace tilescope::experiments {

// The names of a row's nested elements, by the name of the column that they are nested in; text.h has them as JSON.
using NumberNames = std::vector<std::pair<std::string, std::vector<std::string>>>;

// The eight bytes of a double, the least significant first.
void pack_number(std::string& out, double v);
// Takes one from the front. CorruptStore where there are too few bytes, or the number is not finite.
double unpack_number(std::string_view& bytes);

// --- the single elements

struct SqlColumn {
  std::string name, type;
};

template <class T>
const char* sql_type() {
  if constexpr (base::kIsOptional<T>)
    return sql_type<typename T::value_type>();
  else
    return std::is_same_v<T, std::string> ? "TEXT" : std::is_same_v<T, double> ? "REAL" : "INTEGER";
}

template <class Row>
const std::vector<SqlColumn>& sql_columns() {
  static const std::vector<SqlColumn> kColumns = [] {
    std::vector<SqlColumn> out;
    base::each_single_element<Row>([&]<class T>(const base::SingleElement& e, std::type_identity<T>) {
      out.push_back({std::string(e.column.name), sql_type<T>()});
    });
    return out;
  }();
  return kColumns;
}

// Their names, each behind `prefix`, with commas.
template <class Row>
std::string sql_names(std::string_view prefix = {}) {
  std::string out;
  for (const SqlColumn& c : sql_columns<Row>()) out.append(out.empty() ? "" : ", ").append(prefix).append(c.name);
  return out;
}

// Binds a row's single elements to the parameters from `first` on.
class RowBinder {
 public:
  RowBinder(SQLite::Statement& s, int first) : s_(s), next_(first) {}

  template <class T>
  void field(base::Column, const T& member) {
    if constexpr (base::kIsOptional<T>) {
      if (member)
        bind(*member);
      else
        ++next_;
    } else {
      bind(member);
    }
  }
  void flag(base::Column, bool member, bool) { s_.bind(next_++, member ? 1 : 0); }
  template <class Row>
  void part(const Row& row) {
    if constexpr (!base::kIsOptional<Row>) {
      describe(*this, row);
    } else if (row) {
      describe(*this, *row);
    } else {
      next_ += static_cast<int>(sql_columns<typename Row::value_type>().size());
    }
  }
  template <class Entry, class Number>
  void numbers(const base::NamedColumn&, const std::vector<Entry>&, Number Entry::*) {}
  template <class Entry>
  void rows(const base::NamedColumn&, const std::vector<Entry>&) {}

 private:
  void bind(const std::string& text) { s_.bindNoCopy(next_++, text); }
  template <class T>
  void bind(T number) {
    s_.bind(next_++, number);
  }

  SQLite::Statement& s_;
  int next_;
};

// Reads them from the columns from `first` on. CorruptStore, with the column's name, where one holds something else.
class RowReader {
 public:
  RowReader(SQLite::Statement& s, int first) : s_(s), next_(first) {}

  template <class T>
  void field(base::Column c, T& member) {
    const SQLite::Column column = s_.getColumn(next_++);
    if constexpr (base::kIsOptional<T>) {
      if (!column.isNull()) read(c, column, member.emplace());
    } else {
      if (column.isNull()) throw CorruptStore(column.getName());
      read(c, column, member);
    }
  }
  void flag(base::Column, bool& member, bool) {
    const SQLite::Column column = s_.getColumn(next_++);
    if (column.isNull()) throw CorruptStore(column.getName());
    member = integer_in(column) != 0;
  }
  template <class Row>
  void part(Row& row) {
    if constexpr (!base::kIsOptional<Row>) {
      describe(*this, row);
    } else if (!s_.getColumn(next_).isNull()) {
      describe(*this, row.emplace());
    } else {
      next_ += static_cast<int>(sql_columns<typename Row::value_type>().size());
    }
  }
  template <class Entry, class Number>
  void numbers(const base::NamedColumn&, std::vector<Entry>&, Number Entry::*) {}
  template <class Entry>
  void rows(const base::NamedColumn&, std::vector<Entry>&) {}

 private:
  static void read(base::Column c, const SQLite::Column& from, double& to) {
    to = *(c.unit == "us" ? time_in(from) : real_in(from));
  }
  static void read(base::Column, const SQLite::Column& from, std::int64_t& to) { to = integer_in(from); }
  static void read(base::Column, const SQLite::Column& from, bool& to) { to = integer_in(from) != 0; }
  static void read(base::Column, const SQLite::Column& from, std::string& to) { to = text_in(from); }

  SQLite::Statement& s_;
  int next_;
};

// --- the nested ones

class NumberPacker {
 public:
  NumberNames names;
  std::string bytes;

  template <class T>
  void field(base::Column, const T& member) {
    if constexpr (std::is_same_v<T, double>)
      if (nested_) pack_number(bytes, member);
  }
  void flag(base::Column, bool, bool) {}
  template <class Row>
  void part(const Row& row) {
    if constexpr (!base::kIsOptional<Row>)
      describe(*this, row);
    else if (row)
      describe(*this, *row);
  }
  template <class Entry, class Number>
  void numbers(const base::NamedColumn& c, const std::vector<Entry>& entries, Number Entry::* number) {
    add_names(c, entries);
    for (const Entry& e : entries) pack_number(bytes, static_cast<double>(e.*number));
  }
  template <class Entry>
  void rows(const base::NamedColumn& c, const std::vector<Entry>& entries) {
    add_names(c, entries);
    nested_ = true;
    for (const Entry& e : entries) describe(*this, e);
    nested_ = false;
  }

 private:
  template <class Entry>
  void add_names(const base::NamedColumn& c, const std::vector<Entry>& entries) {
    auto& list = names.emplace_back(std::string(c.column.name), std::vector<std::string>()).second;
    for (const Entry& e : entries) list.push_back(e.name);
  }

  bool nested_ = false;
};

class NumberUnpacker {
 public:
  NumberUnpacker(const NumberNames& names, std::string_view bytes) : names_(names), bytes_(bytes) {}

  // CorruptStore where there are more bytes than the names ask for.
  void finish() const {
    if (!bytes_.empty()) throw CorruptStore();
  }

  template <class T>
  void field(base::Column, T& member) {
    if constexpr (std::is_same_v<T, double>)
      if (nested_) member = unpack_number(bytes_);
  }
  void flag(base::Column, bool, bool) {}
  // Single elements have been read, so that an optional part is there where it was.
  template <class Row>
  void part(Row& row) {
    if constexpr (!base::kIsOptional<Row>)
      describe(*this, row);
    else if (row)
      describe(*this, *row);
  }
  template <class Entry, class Number>
  void numbers(const base::NamedColumn& c, std::vector<Entry>& entries, Number Entry::* number) {
    entries.clear();
    for (const std::string& name : names_of(c)) {
      Entry& e = entries.emplace_back();
      e.name = name;
      e.*number = static_cast<Number>(unpack_number(bytes_));
    }
  }
  template <class Entry>
  void rows(const base::NamedColumn& c, std::vector<Entry>& entries) {
    entries.clear();
    nested_ = true;
    for (const std::string& name : names_of(c)) {
      Entry& e = entries.emplace_back();
      e.name = name;
      describe(*this, e);
    }
    nested_ = false;
  }

 private:
  const std::vector<std::string>& names_of(const base::NamedColumn& c) const {
    for (const auto& [column, list] : names_)
      if (column == c.column.name) return list;
    throw CorruptStore();
  }

  const NumberNames& names_;
  std::string_view bytes_;
  bool nested_ = false;
};

// The names and the packed numbers of a row's nested elements.
template <class Row>
NumberPacker packed(const Row& row) {
  NumberPacker out;
  describe(out, row);
  return out;
}

// Fills in a row's nested elements.
template <class Row>
void unpack(Row& row, const NumberNames& names, std::string_view bytes) {
  NumberUnpacker from(names, bytes);
  describe(from, row);
  from.finish();
}

}  // namespace tilescope::experiments

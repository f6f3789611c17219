// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of results, each element described once. A row type has a function
//
//   template <class V> void describe(V& v, base::Is<Row> auto& row);
//
// that shows a visitor every element in the order of documents:
//
//   v.field(column, member)         a number, count, text or boolean; a std::optional one may be absent
//   v.flag(column, member, usual)   a boolean that documents contain only if it differs from the usual value
//   v.part(member)                  a described row whose elements are listed among this one's; it may be optional
//   v.object(column, member)        an optional described row with a key of its own
//   v.numbers(column, entries, number)   numbers by name, such as a time for each term: entries have a `name`
//   v.rows(column, entries)              described rows by name, such as the traffic of each level: likewise
//   v.list(column, entries)              described rows in order; rows with lists are not read, and lists are no cells
//
// This header derives documents (to_entries), their reader (row_of), flat cells of tables (cells_of) and the words of a
// legend (columns_of) from it; experiments/store/detail/described.h derives the columns of a store.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/document.h"

namespace tilescope::base {

// Satisfied if `T` is `U` or const `U`, the rows that a description takes.
template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The name of an element in documents and tables, which ends in its unit; the unit, empty if there is none; and a
// sentence about the element.
struct Column {
  std::string_view name, unit, about;
};

// The column of named entries. Documents add the suffix to each name.
struct NamedColumn {
  Column column;
  std::string_view suffix;  // of a key in documents: "_us"
  std::string_view cell;    // prefix of a flat cell's name: "term."
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// The lines as one text, absent where there are none.
inline std::optional<std::string> unless_empty(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return unless_empty(std::move(text));
}

// --- documents

template <class Row>
List to_list(const std::vector<Row>& rows);

class EntriesWriter {
 public:
  explicit EntriesWriter(Map& out) : out_(out) {}

  template <class T>
  void field(Column c, const T& member) {
    if constexpr (kIsOptional<T>) {
      if (member) field(c, *member);
    } else {
      put(c.name, Value(member));
    }
  }
  void flag(Column c, bool member, bool usual) {
    if (member != usual) put(c.name, Value(member));
  }
  template <class Row>
  void part(const Row& row) {
    if constexpr (kIsOptional<Row>) {
      if (row) describe(*this, *row);
    } else {
      describe(*this, row);
    }
  }
  template <class Row>
  void object(Column c, const std::optional<Row>& row) {
    if (row) put(c.name, of(*row));
  }
  template <class Entry, class Number>
  void numbers(NamedColumn c, const std::vector<Entry>& entries, Number Entry::* number) {
    Map map;
    map.reserve(entries.size());
    for (const Entry& e : entries) map.push_back({std::string(e.name).append(c.suffix), Value(e.*number)});
    put(c.column.name, std::move(map));
  }
  template <class Entry>
  void rows(NamedColumn c, const std::vector<Entry>& entries) {
    Map map;
    map.reserve(entries.size());
    for (const Entry& e : entries) map.push_back({e.name, of(e)});
    put(c.column.name, std::move(map));
  }
  template <class Row>
  void list(Column c, const std::vector<Row>& rows) {
    put(c.name, to_list(rows));
  }

 private:
  template <class Row>
  static Map of(const Row& row) {
    Map map;
    EntriesWriter inner(map);
    describe(inner, row);
    return map;
  }
  void put(std::string_view name, Value v) { out_.push_back({std::string(name), std::move(v)}); }

  Map& out_;
};

// The elements of a row as entries of a document.
template <class Row>
Map to_entries(const Row& row) {
  Map out;
  constexpr std::size_t kKeys = 20;
  out.reserve(kKeys);
  EntriesWriter writer(out);
  describe(writer, row);
  return out;
}

// Likewise of several rows, in order.
template <class Row>
List to_list(const std::vector<Row>& rows) {
  List out;
  out.reserve(rows.size());
  for (const Row& r : rows) out.emplace_back(to_entries(r));
  return out;
}

// Reads what EntriesWriter wrote; `ok()` is false once a key is absent or has another type.
class EntriesReader {
 public:
  explicit EntriesReader(const Value& from) : from_(from) {}

  bool ok() const { return ok_; }

  template <class T>
  void field(Column c, T& member) {
    const Value* v = from_.find(c.name);
    if constexpr (kIsOptional<T>) {
      if (v != nullptr) ok_ = read(*v, member.emplace()) && ok_;
    } else {
      ok_ = v != nullptr && read(*v, member) && ok_;
    }
  }
  void flag(Column c, bool& member, bool usual) {
    member = usual;
    if (const Value* v = from_.find(c.name)) ok_ = read(*v, member) && ok_;
  }
  template <class Row>
  void part(Row& row) {
    if constexpr (kIsOptional<Row>) {
      EntriesReader inner(from_);
      describe(inner, row.emplace());
      if (!inner.ok()) row.reset();
    } else {
      describe(*this, row);
    }
  }
  template <class Row>
  void object(Column c, std::optional<Row>& row) {
    const Value* v = from_.find(c.name);
    if (v != nullptr) into(*v, row.emplace());
  }
  template <class Entry, class Number>
  void numbers(NamedColumn c, std::vector<Entry>& entries, Number Entry::* number) {
    const Map* map = map_at(c.column.name);
    for (std::size_t i = 0; map != nullptr && i < map->size(); ++i) {
      const auto& [key, value, at] = (*map)[i];
      Entry& e = entries.emplace_back();
      ok_ = key.ends_with(c.suffix) && read(value, e.*number) && ok_;
      e.name = key.substr(0, key.size() - std::min(key.size(), c.suffix.size()));
    }
  }
  template <class Entry>
  void rows(NamedColumn c, std::vector<Entry>& entries) {
    const Map* map = map_at(c.column.name);
    for (std::size_t i = 0; map != nullptr && i < map->size(); ++i) {
      Entry& e = entries.emplace_back();
      e.name = (*map)[i].key;
      into((*map)[i].value, e);
    }
  }

 private:
  static bool read(const Value& v, double& to) {
    if (const auto* whole = v.get_if<std::int64_t>()) return to = static_cast<double>(*whole), true;
    const auto* number = v.get_if<double>();
    return number != nullptr && (to = *number, true);
  }
  template <class T>
  static bool read(const Value& v, T& to) {
    const T* value = v.get_if<T>();
    return value != nullptr && (to = *value, true);
  }
  template <class Row>
  void into(const Value& v, Row& row) {
    EntriesReader inner(v);
    describe(inner, row);
    ok_ = inner.ok() && ok_;
  }
  const Map* map_at(std::string_view name) {
    const Value* v = from_.find(name);
    const Map* map = v == nullptr ? nullptr : v->get_if<Map>();
    ok_ = map != nullptr && ok_;
    return map;
  }

  const Value& from_;
  bool ok_ = true;
};

// The row that to_entries wrote, possibly among other keys; nullopt if a key is absent or has another type.
template <class Row>
std::optional<Row> row_of(const Value& document) {
  std::optional<Row> row;
  EntriesReader reader(document);
  describe(reader, row.emplace());
  if (!reader.ok()) row.reset();
  return row;
}

// --- tables

template <class Row>
std::vector<Column> columns_of();

// Calls `put(column, value)` for each element in turn. The column has the name of the flat cell, such as level.l2_bytes
// of a nested element. Absent elements are null, those of an absent part too.
template <class Put>
class CellWriter {
 public:
  CellWriter(std::string prefix, Put& put) : prefix_(std::move(prefix)), put_(put) {}

  template <class T>
  void field(Column c, const T& member) {
    put(c, Value(member));
  }
  void flag(Column c, bool member, bool usual) { put(c, member == usual ? Value(nullptr) : Value(member)); }
  template <class Row>
  void part(const Row& row) {
    if constexpr (!kIsOptional<Row>) {
      describe(*this, row);
    } else if (row) {
      describe(*this, *row);
    } else {
      for (const Column& c : columns_of<typename Row::value_type>()) put(c, Value(nullptr));
    }
  }
  template <class Row>
  void object(Column c, const std::optional<Row>& row) {
    CellWriter inner(prefix_ + std::string(c.name) + '.', put_);
    if (row) describe(inner, *row);
  }
  template <class Entry, class Number>
  void numbers(NamedColumn c, const std::vector<Entry>& entries, Number Entry::* number) {
    for (const Entry& e : entries) {
      const std::string name = std::string(c.cell) + underscored(e.name) + std::string(c.suffix);
      put({name, c.column.unit, c.column.about}, Value(e.*number));
    }
  }
  template <class Entry>
  void rows(NamedColumn c, const std::vector<Entry>& entries) {
    for (const Entry& e : entries) {
      CellWriter inner(prefix_ + std::string(c.cell) + e.name + '_', put_);
      describe(inner, e);
    }
  }
  // Lists are no cells.
  template <class Row>
  void list(Column, const std::vector<Row>&) {}

 private:
  void put(const Column& c, Value v) {
    const std::string name = prefix_ + std::string(c.name);
    put_(Column{name, c.unit, c.about}, std::move(v));
  }
  static std::string underscored(std::string name) {
    for (char& c : name)
      if (c == ' ') c = '_';
    return name;
  }

  std::string prefix_;
  Put& put_;
};

template <class Row, class Put>
void cells_of(const Row& row, Put&& put) {
  CellWriter<std::remove_reference_t<Put>> writer({}, put);
  describe(writer, row);
}

// --- words

// Collects the columns of a row, of its parts and of its named rows, in order. An object is one column.
class ColumnCollector {
 public:
  explicit ColumnCollector(std::vector<Column>& out) : out_(out) {}

  template <class T>
  void field(Column c, const T&) {
    out_.push_back(c);
  }
  void flag(Column c, bool, bool) { out_.push_back(c); }
  template <class Row>
  void part(const Row&) {
    if constexpr (kIsOptional<Row>)
      collect<typename Row::value_type>();
    else
      collect<Row>();
  }
  template <class Row>
  void object(Column c, const std::optional<Row>&) {
    out_.push_back(c);
  }
  template <class Entry, class Number>
  void numbers(NamedColumn c, const std::vector<Entry>&, Number Entry::*) {
    out_.push_back(c.column);
  }
  template <class Entry>
  void rows(NamedColumn c, const std::vector<Entry>&) {
    out_.push_back(c.column);
    collect<Entry>();
  }
  template <class Row>
  void list(Column c, const std::vector<Row>&) {
    out_.push_back(c);
    collect<Row>();
  }

 private:
  template <class Row>
  void collect() {
    const Row row{};
    describe(*this, row);
  }

  std::vector<Column>& out_;
};

template <class Row>
std::vector<Column> columns_of() {
  std::vector<Column> out;
  ColumnCollector collector(out);
  const Row row{};
  describe(collector, row);
  return out;
}

}  // namespace tilescope::base

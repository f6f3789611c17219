// SPDX-License-Identifier: Apache-2.0
#include "base/cells.h"

#include <cmath>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tilescope::base {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr unsigned bit_of(CellKind kind) { return 1U << static_cast<unsigned>(kind); }

constexpr unsigned kTexts = bit_of(CellKind::kText) | bit_of(CellKind::kDocument);

// Reserves `count` elements and asks the system for large pages: faults of small ones, at the first write to each, take
// as long as reading a table.
template <class T>
void reserve(std::vector<T>& to, std::size_t count) {
  if (to.capacity() >= count) return;
  to.reserve(count);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(to.data());
  const std::uintptr_t begin = (first + page - 1) / page * page, end = (first + count * sizeof(T)) / page * page;
  if (begin >= end) return;
  // Where there are none, pages are small.
  madvise(reinterpret_cast<std::byte*>(to.data()) + (begin - first), end - begin, MADV_HUGEPAGE);
}

// The kind of a cell of a column whose cells are all of that one kind.
CellKind only_kind(const CellColumn& column, std::size_t row) {
  if (column.seen == 0) return CellKind::kAbsent;
  unsigned kind = 0;
  while (column.seen >> (kind + 1) != 0) ++kind;
  const bool there = (column.seen & kTexts) != 0 ? column.text(row) != nullptr : !std::isnan(column.number(row));
  return there ? static_cast<CellKind>(kind) : CellKind::kAbsent;
}

}  // namespace

CellKind CellColumn::kind(std::size_t row) const {
  if (kinds.empty()) return only_kind(*this, row);
  return row < kinds.size() ? kinds[row] : CellKind::kAbsent;
}

double CellColumn::number(std::size_t row) const { return row < numbers.size() ? numbers[row] : kNone; }

const char* CellColumn::text(std::size_t row) const {
  if (row >= texts_at.size() || texts_at[row] < 0) return nullptr;
  return texts[static_cast<std::size_t>(texts_at[row])].c_str();
}

void Cells::add_row() {
  ++rows_;
  next_ = 0;
}

std::size_t Cells::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? columns_.size() : found->second;
}

std::size_t Cells::place_of(const Column& column) {
  if (next_ < columns_.size() && columns_[next_].name == column.name) return next_++;
  const std::size_t place = find(column.name);
  next_ = place + 1;
  if (place < columns_.size()) return place;
  CellColumn& fresh = columns_.emplace_back();
  fresh.name = column.name;
  fresh.unit = column.unit;
  fresh.about = column.about;
  indices_.emplace_back();
  places_.emplace(column.name, place);
  return place;
}

void Cells::note(CellColumn& column, CellKind kind) {
  if (column.seen == bit_of(kind)) return;
  if (column.seen != 0 && column.kinds.empty())
    for (std::size_t row = 0; row + 1 < rows_; ++row) column.kinds.push_back(only_kind(column, row));
  if (column.seen != 0) {
    column.kinds.resize(rows_, CellKind::kAbsent);
    column.kinds.back() = kind;
  }
  column.seen |= bit_of(kind);
}

void Cells::put_first_number(CellColumn& c, CellKind kind, double value) {
  note(c, kind);
  reserve(c.numbers, expected_rows_);
  if (c.numbers.size() + 1 < rows_) c.numbers.resize(rows_ - 1, kNone);
  c.numbers.resize(rows_);
  c.numbers.back() = value;
}

std::int32_t Cells::index_of(std::size_t place, std::string_view text) {
  Indices& known = indices_[place];
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  auto& texts = columns_[place].texts;
  const auto index = static_cast<std::int32_t>(texts.size());
  texts.emplace_back(text);
  known.emplace(texts.back(), index);
  return index;
}

void Cells::put_first_text(CellColumn& c, CellKind kind, std::int32_t index) {
  note(c, kind);
  reserve(c.texts_at, expected_rows_);
  if (c.texts_at.size() + 1 < rows_) c.texts_at.resize(rows_ - 1, -1);
  c.texts_at.resize(rows_);
  c.texts_at.back() = index;
}

void Cells::append_numbers(CellColumn& to, const CellColumn& from) {
  if (from.numbers.empty()) return;
  reserve(to.numbers, expected_rows_);
  to.numbers.resize(rows_, kNone);
  to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
}

void Cells::append_texts(std::size_t place, const CellColumn& from) {
  if (from.texts_at.empty()) return;
  std::vector<std::int32_t> own;  // the index here of each text there
  for (const std::string& text : from.texts) own.push_back(index_of(place, text));
  CellColumn& to = columns_[place];
  reserve(to.texts_at, expected_rows_);
  to.texts_at.resize(rows_, -1);
  for (const std::int32_t index : from.texts_at)
    to.texts_at.push_back(index < 0 ? -1 : own[static_cast<std::size_t>(index)]);
}

void Cells::append_kinds(CellColumn& to, const CellColumn& from, std::size_t rows) {
  const unsigned seen = to.seen | from.seen;
  if ((seen & (seen - 1)) == 0) return;
  std::vector<CellKind> kinds;
  for (std::size_t row = 0; row < rows_; ++row) kinds.push_back(to.kind(row));
  for (std::size_t row = 0; row < rows; ++row) kinds.push_back(from.kind(row));
  to.kinds = std::move(kinds);
}

void Cells::append(const Cells& other) {
  next_ = 0;
  for (const CellColumn& from : other.columns_) {
    const std::size_t place = place_of({from.name, from.unit, from.about});
    CellColumn& to = columns_[place];
    append_kinds(to, from, other.rows_);
    append_numbers(to, from);
    append_texts(place, from);
    to.seen |= from.seen;
  }
  rows_ += other.rows_;
}

void Cells::put(const Column& column, Value value) {
  const std::size_t place = place_of(column);
  if (const auto* number = value.get_if<double>())
    put_number(place, CellKind::kNumber, *number);
  else if (const auto* whole = value.get_if<std::int64_t>())
    put_number(place, CellKind::kInteger, static_cast<double>(*whole));
  else if (const auto* truth = value.get_if<bool>())
    put_number(place, CellKind::kTruth, *truth ? 1 : 0);
  else if (const auto* text = value.get_if<std::string>())
    put_text(place, CellKind::kText, *text);
  else if (!value.is_null())
    put_text(place, CellKind::kDocument, to_json(value));
}

}  // namespace tilescope::base

// SPDX-License-Identifier: Apache-2.0
#include "library/table.h"

#include <utility>

#include "base/json_writer.h"

namespace tilescope::library {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

const char* CellColumn::text_at(std::size_t row) const {
  if (row >= text_index.size() || text_index[row] < 0) return nullptr;
  return texts[static_cast<std::size_t>(text_index[row])].c_str();
}

void CellColumn::set(Kind kind) {
  kinds.back() = kind;
  seen |= 1U << static_cast<unsigned>(kind);
}

void Cells::add_row() {
  ++rows_;
  next_ = 0;
  for (CellColumn& c : columns_) {
    c.kinds.push_back(Kind::kAbsent);
    c.numbers.push_back(kNone);
    if (!c.text_index.empty()) c.text_index.push_back(-1);
  }
}

std::size_t Cells::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? columns_.size() : found->second;
}

std::size_t Cells::place_of(const base::Column& column) {
  if (next_ < columns_.size() && columns_[next_].name == column.name) return next_++;
  const auto found = places_.find(column.name);
  const std::size_t place = found == places_.end() ? columns_.size() : found->second;
  next_ = place + 1;
  if (place < columns_.size()) return place;
  CellColumn& fresh = columns_.emplace_back();
  fresh.name = column.name;
  fresh.unit = column.unit;
  fresh.about = column.about;
  fresh.kinds.assign(rows_, Kind::kAbsent);
  fresh.numbers.assign(rows_, kNone);
  known_texts_.emplace_back();
  places_.emplace(column.name, place);
  return place;
}

void Cells::put_text(CellColumn& column, std::size_t at, Kind kind, std::string text) {
  auto& known = known_texts_[at];
  const auto [entry, fresh] = known.emplace(std::move(text), static_cast<std::int32_t>(column.texts.size()));
  if (fresh) column.texts.push_back(entry->first);
  column.text_index.resize(rows_, -1);
  column.text_index.back() = entry->second;
  column.set(kind);
}

void Cells::put(const base::Column& column, base::Value value) {
  const std::size_t at = place_of(column);
  CellColumn& c = columns_[at];
  if (const auto* number = value.get_if<double>()) {
    c.set(Kind::kNumber);
    c.numbers.back() = *number;
  } else if (const auto* whole = value.get_if<std::int64_t>()) {
    c.set(Kind::kInteger);
    c.numbers.back() = static_cast<double>(*whole);
  } else if (const auto* truth = value.get_if<bool>()) {
    c.set(Kind::kTruth);
    c.numbers.back() = *truth ? 1 : 0;
  } else if (auto* text = value.get_if<std::string>()) {
    put_text(c, at, Kind::kText, std::move(*text));
  } else if (!value.is_null()) {
    put_text(c, at, Kind::kDocument, base::to_json(value));
  }
}

double Table::number_of(std::size_t row, std::string_view name) const {
  const std::size_t column = cells().find(name);
  return column == cells().columns().size() ? kNone : cells().columns()[column].numbers[row];
}

const Cells& Table::cells() const {
  std::call_once(filled_, [&] { fill(cells_); });
  return cells_;
}

base::Value CellsTable::document() const {
  base::List out;
  for (std::size_t row = 0; row < rows_; ++row) {
    base::Map entries;
    for (const CellColumn& c : given_.columns()) {
      if (c.kinds[row] == Kind::kAbsent) continue;
      if (c.kinds[row] == Kind::kTruth)
        entries.push_back({c.name, c.numbers[row] != 0});
      else if (c.kinds[row] == Kind::kInteger)
        entries.push_back({c.name, static_cast<std::int64_t>(c.numbers[row])});
      else if (c.kinds[row] == Kind::kNumber)
        entries.push_back({c.name, c.numbers[row]});
      else
        entries.push_back({c.name, c.text_at(row)});
    }
    out.emplace_back(std::move(entries));
  }
  return out;
}

}  // namespace tilescope::library

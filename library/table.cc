// SPDX-License-Identifier: Apache-2.0
#include "library/table.h"

#include <limits>
#include <utility>

namespace tilescope::library {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double Table::number_of(std::size_t row, std::string_view name) const {
  const std::size_t column = cells().find(name);
  return column == cells().columns().size() ? kNone : cells().columns()[column].number(row);
}

const base::Cells& Table::cells() const {
  std::call_once(filled_, [&] { fill(cells_); });
  return cells_;
}

base::Value CellsTable::document() const {
  base::List out;
  for (std::size_t row = 0; row < given_.rows(); ++row) {
    base::Map entries;
    for (const base::CellColumn& c : given_.columns()) {
      const base::CellKind kind = c.kind(row);
      if (kind == base::CellKind::kTruth)
        entries.push_back({c.name, c.number(row) != 0});
      else if (kind == base::CellKind::kInteger)
        entries.push_back({c.name, static_cast<std::int64_t>(c.number(row))});
      else if (kind == base::CellKind::kNumber)
        entries.push_back({c.name, c.number(row)});
      else if (kind != base::CellKind::kAbsent)
        entries.push_back({c.name, c.text(row)});
    }
    out.emplace_back(std::move(entries));
  }
  return out;
}

}  // namespace tilescope::library

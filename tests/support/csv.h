// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads comma-separated values with a header line and optional double quotes, as the large test data is written.

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::tests {

// One row: cells by the names of their columns.
using CsvRow = std::map<std::string, std::string>;

// The cells of one line; a quoted cell may hold commas, and "" for a quote.
inline std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[i++];
      else
        quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

// All rows of a file whose cells hold no line breaks; none where it cannot be read.
inline std::vector<CsvRow> read_csv(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::vector<CsvRow> rows;
  if (!std::getline(in, line)) return rows;
  const std::vector<std::string> names = csv_cells(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = i < cells.size() ? cells[i] : "";
  }
  return rows;
}

}  // namespace tilescope::tests

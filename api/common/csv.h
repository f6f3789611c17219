// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of CSV (RFC 4180). For api/ and experiments/ only.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

// The cells as a line, with its end. It has `columns` cells; null and absent ones are empty.
std::string csv_line(const std::vector<base::Value>& cells, std::size_t columns);

struct CsvCell {
  std::string text;
  std::size_t begin = 0;  // in the line

  bool operator==(const CsvCell&) const = default;
};

// The cells of a line without its end. Cells hold no line breaks.
std::vector<CsvCell> csv_cells(std::string_view line);

}  // namespace tilescope::api

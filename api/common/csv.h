// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of CSV (RFC 4180). For api/ and experiments/ only.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace tilescope::api {

// The cells as a line of so many columns, with its end; null and what is missing is empty.
std::string csv_line(const std::vector<base::Value>& cells, std::size_t columns);

// The cells of a line without its end, as text. Cells hold no line breaks.
std::vector<std::string> csv_cells(std::string_view line);

}  // namespace tilescope::api

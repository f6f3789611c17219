// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readers of the syntaxes that are no YAML or JSON. Mistakes are reported with line and column.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "import/keys.h"

namespace tilescope::importers {

// Options of a command line in a file: `-name value`, `#` begins a comment, a value in quotes may span lines. A name
// loses its hyphens. Of an option that is given twice the last one counts, with a note.
std::vector<Key> read_options(std::string_view text, base::SourceId source, base::Diagnostics& diags);

// Sections of `name = value`, each a key `section.name`; `;` and `#` begin comments. Likewise of one given twice.
std::vector<Key> read_ini(std::string_view text, base::SourceId source, base::Diagnostics& diags);

// One row of a table with the places of its cells, without the blanks around them. An empty last cell, behind the
// comma at the end of a row, is left out.
struct CsvCell {
  std::string text;
  base::Position at;
};
using CsvRow = std::vector<CsvCell>;

// The rows of comma-separated values; empty lines, and what follows a `#`, are left out.
std::vector<CsvRow> read_csv(std::string_view text, base::SourceId source);

// The title of a column in small letters and digits alone.
std::string folded(std::string_view title);

}  // namespace tilescope::importers

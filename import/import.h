// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads files of other tools: chips and memories into chips of ours, layers into suites (docs/import.md).

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "import/report.h"

namespace tilescope::importers {

// A format by its name on the command line.
struct Format {
  std::string_view name, what;  // what it reads, in words
};
std::span<const Format> formats();

struct ImportOptions {
  std::string format, file;
  std::string name;  // of a chip, or the operator of a problem; made of the file's name where empty
  std::string like;  // the device that a chip extends; the nearest where empty
};

// Reads the file. Returns nullopt after errors: the format is unknown, the file is another tool's (which is named), or
// its values make no chip or operator. Keys that the reader does not know are in the report.
std::optional<Imported> import_file(const ImportOptions& options, base::Diagnostics& diags);

// The same of a text; messages call it `options.file`.
std::optional<Imported> import_text(std::string_view text, const ImportOptions& options, base::Diagnostics& diags);

}  // namespace tilescope::importers

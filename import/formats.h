// SPDX-License-Identifier: Apache-2.0
#pragma once
// One reader a format, each a function of the file's text.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "import/nearest.h"
#include "import/report.h"
#include "import/table.h"

namespace tilescope::importers {

struct Source {
  std::string_view text;
  std::string file;  // its name, for comments
  base::SourceId id{};
  std::string name;  // of the chip that is written
  std::string like;  // the device that a chip extends; the nearest where empty
};

// Each returns nullopt after errors. The keys that it does not understand are in the report and are no errors.
std::optional<Imported> import_gpgpusim(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_llmcompass(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_dramsim3(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_ramulator2(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_timeloop(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_zigzag(const Source& source, base::Diagnostics& diags);
std::optional<Imported> import_scalesim(const Source& source, base::Diagnostics& diags);

// --- shared by the readers of chips

// The chip that extends a device and has the table's figures of the keys. `target` and `vendor` restrict which device
// is the nearest. Writes only figures that differ from the device's.
std::optional<Imported> chip_like_ours(const Source& source, std::vector<Key> keys, const Table& table,
                                       std::string_view target, std::string_view vendor, base::Diagnostics& diags);

// The memory (class memory) that has the table's figures of the keys.
// `add` adds figures that are no formulas, such as the mapping of addresses, and says what became of their keys.
using AddFigures = std::function<void(Ledger& ledger, std::vector<Figure>& figures, base::Diagnostics& diags)>;
std::optional<Imported> memory_of(const Source& source, std::vector<Key> keys, const Table& table,
                                  const AddFigures& add, base::Diagnostics& diags);

// The whole number of a figure; nullopt where it is not made.
std::optional<std::int64_t> whole_of(const std::vector<Figure>& figures, std::string_view path);

// Refuses more keys than any file of these tools has; false after the error.
bool check_number(const std::vector<Key>& keys, base::SourceId source, base::Diagnostics& diags);

// "timing.CL" as messages of the input's tool name it: what the formula's keys are, or nothing.
std::string comment_of(const Source& source, const Figure& figure);

}  // namespace tilescope::importers

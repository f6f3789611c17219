#pragma once
// `tilescope export`: a stored sweep as a table, one row an operator at a point, in the order of points and operators
// and not of computing: the same sweep gives the same text.

#include <functional>
#include <string>
#include <string_view>

#include "experiments/store.h"

namespace tilescope::experiments {

enum class TableForm { kCsv, kJsonLines };

// Writes the table piece by piece; how many rows it has. CSV has a line of names and empty cells where nothing is
// known; JSON lines leave such keys out. Names of columns bear their units.
std::size_t write_table(const Store& store, const StoredSweep& sweep, TableForm form,
                        const std::function<void(std::string_view)>& write);

// The same into a file, which appears whole or not at all.
std::size_t write_table_file(const Store& store, const StoredSweep& sweep, TableForm form, const std::string& path);

}  // namespace tilescope::experiments

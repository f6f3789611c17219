// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a store: its tables, what makes it one, and what SQLite says of it in words; for the .cc files of
// experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <memory>
#include <string>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// Opens for reading, as it is now for as long as it is open; null after an error.
std::unique_ptr<SQLite::Database> open_to_read(const std::string& path, base::Diagnostics& diags);

// Opens for writing and makes a store of a file that is empty or not there. Null after an error: no store, or one that
// another version of the tool made.
std::unique_ptr<SQLite::Database> open_to_write(const std::string& path, const std::string& tool_version,
                                                base::Diagnostics& diags);

// Calls `work`; what SQLite complains about becomes a StoreError that names the file.
template <class Work>
auto on_file(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const SQLite::Exception& e) {
    throw StoreError(path + ": " + e.what());
  }
}

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a store: its tables, what makes it one, and what SQLite says of it in words; for the .cc files of
// experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <memory>
#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "experiments/store/store.h"
#include "experiments/store/writer.h"

namespace tilescope::experiments {

// Opens for reading, as it is now for as long as it is open; null after an error.
std::unique_ptr<SQLite::Database> open_to_read(const std::string& path, base::Diagnostics& diags);

// Whether a sweep made it and ended before it put anything there.
bool is_only_begun(const std::string& path);

// Opens for writing and makes a store of a file that is empty or not there. Null after an error: no store, one that
// another version of the tool made, one of another shard, or of a shard where none is asked for. `named`: what errors
// call the file; empty: by its path.
std::unique_ptr<SQLite::Database> open_to_write(const std::string& path, const std::string& tool_version,
                                                const std::optional<ShardOfSweep>& shard, base::Diagnostics& diags,
                                                const std::string& named = {});

// The table of stores that have shards, which others do without.
bool has_shards_table(SQLite::Database& file);
void add_shards_table(SQLite::Database& file);

// Another process kept the file for longer than this one waits.
bool is_busy(const SQLite::Exception& e);
// Whether the file is no longer what SQLite wrote.
bool is_damaged(const SQLite::Exception& e);

// As SQLite is to open a file that lies where nothing may be written.
std::string read_only_uri(const std::string& path);

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

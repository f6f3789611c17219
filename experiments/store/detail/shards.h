// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which shards of a sweep a store has (its table `shards`); for the .cc files of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/store/store.h"
#include "experiments/store/writer.h"

namespace tilescope::experiments {

// Nothing of a sweep that never was in parts. Throws DamagedError where the table no longer holds what was written.
std::optional<StoredShards> shards_of(SQLite::Database& file, const std::string& path, std::int64_t sweep);

// Why that shard does not go on in the store, or a whole sweep where none is given; empty where it does. Throws
// DamagedError where the store's own numbers are no longer what was written and the sweep that is given has another
// title: one of the same title writes them anew.
std::string why_other_shard(SQLite::Database& file, const std::string& path, const std::optional<ShardOfSweep>& shard);

// The title of another sweep that the store has shards of; empty where there is none.
std::string other_sharded_sweep(SQLite::Database& file, const std::string& title);

// What is put of the sweep: those shards, none of them complete yet; or, without them, all of it, which is all shards
// where others of its plan were merged.
void put_shards(SQLite::Database& file, std::int64_t sweep, const std::optional<StoredShards>& shards,
                const std::string& plan);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope merge`: merges the shards of a sweep into one store. Rows are identified by their contents, so that
// repeated merging, in any order, changes nothing.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/document.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

struct Merged {
  std::string title;
  StoredShards shards;              // that the store has after merging
  std::size_t points = 0;           // of these shards, bases included
  std::size_t read = 0, added = 0;  // rows of the shards, and those of them that the store did not have
  std::size_t lacking = 0;          // rows that the store lacks although all shards claim to have computed them
  double seconds = 0;

  // Whether all shards are in the store, with all their rows.
  bool complete() const;
};

// Some shards are in the store and others are not. The message says why, and how to continue.
class PartlyMerged : public StoreError {
 public:
  using StoreError::StoreError;
};

// Merges the shards' stores into `store`, which is created where it does not exist. A store that has a shard already
// takes the rows that the shard computed since. A shard without contents is left out with a note. A shard is merged
// completely or not at all.
// Returns nullopt after an error, and leaves `store` unchanged: a store that is no shard, shards of several sweeps,
// sweep files, versions or numbers of shards, a shard given twice, a `store` that has the sweep from elsewhere, or
// shards of another sweep. Throws StoreError where a file cannot be read or written, or another process writes to
// `store`; then nothing was merged, unless the exception is PartlyMerged.
std::optional<Merged> merge(const std::string& store, const std::vector<std::string>& shards, base::Diagnostics& diags);

// {"sweep","shards":{..},"points","rows":{"read","added"},"seconds"}.
base::Value to_document(const Merged& merged);
// {"count","points","here","complete","missing"}.
base::Value to_document(const StoredShards& shards);

// "0 to 3, 7".
std::string list_of(const std::vector<std::size_t>& numbers);

}  // namespace tilescope::experiments

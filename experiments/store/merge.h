// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope merge`: the shards of a sweep into one store. Rows are named by contents, so that merging again, or in
// another order, changes nothing.

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
  StoredShards shards;              // that the store has now
  std::size_t points = 0;           // of them, bases too
  std::size_t read = 0, added = 0;  // rows of the shards, and those of them that the store had not
  std::size_t lacking = 0;          // rows that the store lacks though all shards say that they were computed
  double seconds = 0;

  // All shards are there, with all their rows.
  bool complete() const;
};

// Some of the shards are in the store, others are not: why, and how to go on.
class PartlyMerged : public StoreError {
 public:
  using StoreError::StoreError;
};

// Takes what the shards' stores have into `store`, which is made where it is not there. A store that took a shard
// before takes what that shard computed since; one that has nothing yet is left out with a note. Nothing after an
// error, and then `store` is as it was: a store that is no shard, shards of several sweeps, sweep files, versions or
// numbers of shards, a shard given twice, a `store` that has the sweep from elsewhere, or shards of another sweep.
// Throws StoreError where a file cannot be read or written, and where another process writes to `store`: nothing was
// merged then, unless it is PartlyMerged. A shard is taken as a whole or not at all.
std::optional<Merged> merge(const std::string& store, const std::vector<std::string>& shards, base::Diagnostics& diags);

// {"sweep","shards":{..},"points","rows":{"read","added"},"seconds"}.
base::Value to_document(const Merged& merged);
// {"count","points","here","complete","missing"}.
base::Value to_document(const StoredShards& shards);

// "0 to 3, 7".
std::string list_of(const std::vector<std::size_t>& numbers);

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes stores of shards into one file, by SQL; for the .cc files of experiments/ alone.

#include <SQLiteCpp/SQLiteCpp.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <span>
#include <string>

#include "experiments/store/merge.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// A shard's store, and what must be the same in all shards.
struct Part {
  std::string path, tool, title, file, text;
  StoredShards shards;
};

// SQLite attaches ten files at most where it is not built for more.
constexpr std::size_t kAttached = 8;

// Takes several parts in one transaction, with SQL alone: no value of a row leaves SQLite. A commit writes most pages
// of the indices of hashes, whatever it adds: the fewer, the better.
class Merger {
 public:
  // `cache_kib`: for the indices of hashes, which are read and written all over.
  Merger(SQLite::Database& to, const std::string& title, int cache_kib);

  // At most kAttached parts: all or none. Counts their rows in `merged`. Throws SQLite's exceptions, and StoreError
  // that names the part which is damaged or changed.
  void take(std::span<const Part> parts, Merged& merged);

  // The number of the sweep in the file.
  std::int64_t sweep() const { return here_; }
  // Rows that points of the sweep lack, of chips that are not refused, one for every operator.
  std::size_t rows_lacking() const;

 private:
  void take(const Part& p, std::size_t number, Merged& merged);
  void attach(const std::string& path, std::size_t number);
  void check_unchanged(const Part& p);
  void take_contents(const std::string& table);
  std::string looked_up(const std::string& table, int all);
  std::size_t take_rows(const Part& p);
  void take_sweep();
  std::string of_shard(std::string sql) const;
  std::string here(const std::string& table, const std::string& column) const;

  SQLite::Database& to_;
  std::string title_;
  std::string schema_;                                // of the part that is taken, with its dot
  std::map<std::string, std::string> here_by_table_;  // SQL, of an id {0} of the part's contents: its id in the file
  std::int64_t sweep_ = 0, here_ = 0;                 // numbers of the sweep in the shard's store, and in this one
};

// Looks in a thread of its own, while the parts are taken, whether each has a row for every point and operator of its
// own: rows are never taken away, and so the store that takes all of them lacks none.
class PartsHaveAllRows {
 public:
  // The parts outlive it.
  explicit PartsHaveAllRows(std::span<const Part> parts);
  // Looks at no further part, and waits for the one that is read.
  ~PartsHaveAllRows();
  PartsHaveAllRows(const PartsHaveAllRows&) = delete;
  PartsHaveAllRows& operator=(const PartsHaveAllRows&) = delete;

  // Waits until it is known; called once. False too where a part cannot be read.
  bool answer();

 private:
  std::atomic<bool> stopped_ = false;
  std::future<bool> answer_;
};

}  // namespace tilescope::experiments

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adds to a store; for the .cc files of experiments/ alone. One writer at a time has a store
// (experiments/store/detail/lock.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// A shard of the sweep of a title: what a store of its own is for.
struct ShardOfSweep {
  Shard shard;
  std::string title;
};

// A row of the tables chips, workloads, requests, programs, names.
enum class Content : std::int64_t {};

// What a row is about.
struct RowKey {
  Content chip{}, request{}, workload{};
};

struct KnownRow {
  std::optional<double> time_us;  // none of a failure
};

// A row as its columns hold it: made outside of the one thread's turn that writes.
struct RowTexts {
  RowTexts(const StoredRow& row, std::string program_document);

  StoredRow row;
  std::string names, numbers, simulation;  // names: empty where nothing is predicted
  std::string program, program_hash;       // its document; empty where there is none
};

// A point of a sweep that is put into a store.
struct NewPoint {
  StoredPoint point;
  std::optional<Content> chip, request;  // none of a refused point
  std::size_t base_ordinal = 0;          // of the point that it is compared with
};

// A point whose rows of the model the simulator's rows of its chip and that request stand next to.
struct ChosenPoint {
  std::size_t ordinal = 0;
  Chosen chosen = Chosen::kNot;  // not: another point of the same chip and programs is
  Content request{};
};

struct NewWorkload {
  std::string name, kind;
  double weight = 1;
  Content workload{};
};

class StoreWriter {
 public:
  // Makes the store where there is none, the one of a shard where one is given. Nothing after an error; throws
  // StoreError where another sweep has it.
  static std::optional<StoreWriter> open(const std::string& path, const std::string& tool_version,
                                         base::Diagnostics& diags,
                                         const std::optional<ShardOfSweep>& shard = std::nullopt);
  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;
  ~StoreWriter();

  const std::string& path() const;

  // All functions throw StoreError where the file does not take it; what is committed stays.

  // The content of that identity, added where it is new. `identity` is what makes two chips one.
  Content chip(const std::string& identity, const std::string& name, const base::Value& document);
  Content workload(const base::Value& document);
  Content request(const base::Value& document);

  // The sweep of that title, in place of an earlier one's points and workloads; rows stay. One commit. Its number. A
  // whole sweep is all shards of those that were merged, where its plan is theirs.
  std::int64_t put_sweep(const StoredSweep& sweep, const std::vector<NewPoint>& points,
                         const std::vector<NewWorkload>& workloads, const std::string& plan = {});
  // All rows of what was put are there. One commit.
  void complete(std::int64_t sweep);

  // What of the sweep of that number is simulated, so far as it is chosen. One commit.
  void choose(std::int64_t sweep, const StoredMultiFidelity& multi_fidelity, const std::vector<ChosenPoint>& points);

  // What is known of a row: nothing where it is not there.
  std::optional<KnownRow> find(const RowKey& key);
  // The document of the program that a row has.
  std::optional<std::string> program_of(const RowKey& key);
  // A row that is there is left as it is.
  void add(const RowKey& key, const RowTexts& texts);
  // What was added since is kept from here on, also where the process is killed.
  void commit();

 private:
  struct Open;
  explicit StoreWriter(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

}  // namespace tilescope::experiments

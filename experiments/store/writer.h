// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes to a store; only for the .cc files of experiments/. A store has one writer at a time
// (experiments/store/detail/lock.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/store/store.h"

namespace tilescope::experiments {

// A shard of the sweep of that title. A store may belong to one shard.
struct ShardOfSweep {
  Shard shard;
  std::string title;
};

// The id of a row of the tables chips, workloads, requests, programs, names.
enum class Content : std::int64_t {};

// The key of a result row.
struct RowKey {
  Content chip{}, request{}, workload{};
};

struct KnownRow {
  std::optional<double> time_us;  // nullopt for a failure
};

// A row in the form of its columns. It is prepared outside the single thread that writes.
struct RowTexts {
  RowTexts(const StoredRow& row, std::string program_document);

  StoredRow row;
  std::string names, numbers, simulation;  // `names` is empty where nothing is predicted
  std::string program, program_hash;       // its document and hash; empty where there is none
};

// A point of a sweep to be stored.
struct NewPoint {
  StoredPoint point;
  std::optional<Content> chip, request;  // nullopt for a refused point; without a request no programs are constructed
  std::size_t base_ordinal = 0;          // of the point with which it is compared
};

// A point whose model rows are joined by the simulator's rows for its chip and that request.
struct ChosenPoint {
  std::size_t ordinal = 0;
  Chosen chosen = Chosen::kNot;  // kNot: another point with the same chip and programs is chosen
  Content request{};
};

struct NewWorkload {
  std::string name, kind;
  double weight = 1;
  Content workload{};
};

class StoreWriter {
 public:
  // Opens the store, or creates it where there is none; `shard`, if given, is the shard that it belongs to. Returns
  // nullopt after an error; throws StoreError where another sweep is writing to it.
  static std::optional<StoreWriter> open(const std::string& path, const std::string& tool_version,
                                         base::Diagnostics& diags,
                                         const std::optional<ShardOfSweep>& shard = std::nullopt);
  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;
  ~StoreWriter();

  const std::string& path() const;

  // All functions throw StoreError where the file cannot be written; what is committed remains.

  // The id of the content, which is added where it is new. Two chips with the same `identity` are one.
  Content chip(const std::string& identity, const std::string& name, const base::Value& document);
  Content workload(const base::Value& document);
  Content request(const base::Value& document);

  // Stores the sweep in one commit and returns its id. It replaces the points and workloads of an earlier sweep of that
  // title; rows stay. Where shards of the same `plan` were merged before, a whole sweep counts as all shards.
  std::int64_t put_sweep(const StoredSweep& sweep, const std::vector<NewPoint>& points,
                         const std::vector<NewWorkload>& workloads, const std::string& plan = {});
  // Adds points to the stored sweep of that id. One commit.
  void add_points(std::int64_t sweep, const std::vector<NewPoint>& points);
  // Stores how far the sweep's plan is. One commit.
  void put_plan(std::int64_t sweep, const StoredPlan& plan);
  // Marks the stored sweep as complete: all its rows are there. One commit.
  void complete(std::int64_t sweep);

  // Stores which points of the sweep of that id are simulated, as far as they are chosen. One commit.
  void choose(std::int64_t sweep, const StoredMultiFidelity& multi_fidelity, const std::vector<ChosenPoint>& points);

  // The known result of a row; nullopt where there is no such row.
  std::optional<KnownRow> find(const RowKey& key);
  // The document of a row's program.
  std::optional<std::string> program_of(const RowKey& key);
  // Adds a row; an existing row is left unchanged.
  void add(const RowKey& key, const RowTexts& texts);
  // Makes all rows added so far durable, even if the process is killed.
  void commit();

 private:
  struct Open;
  explicit StoreWriter(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

}  // namespace tilescope::experiments

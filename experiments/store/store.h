// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store of sweeps: which chips were asked what about which operators, and what came out. One SQLite file that any
// tool reads (docs/sweep.md lists its tables and the view `results`); this is its reader. Times are microseconds.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/common/prediction.h"
#include "api/common/simulation.h"
#include "base/diagnostics.h"
#include "base/document.h"

namespace tilescope::experiments {

// What a store's file does not allow at this moment: "FILE: what, and what to do". Not the user's input is wrong but
// the disk is full, the file damaged, another sweep at work.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Something in the file is no longer what was written: the text names it, and how to have it anew.
class DamagedError : public StoreError {
 public:
  using StoreError::StoreError;
};

// Throws it of what rows share: a document of a chip, a program or an operator, which nothing writes anew.
[[noreturn]] void throw_damaged_content(const std::string& path, const std::string& what);

// Part `index` of `count` of a sweep: of its points index, index + count, index + 2 count, ...
struct Shard {
  std::size_t index = 0, count = 1;

  bool operator==(const Shard&) const = default;
};

// The shards of a sweep that a store has: the one that it is the store of, or those that were merged into it.
struct StoredShards {
  std::size_t count = 1;   // that the sweep is cut into
  std::size_t points = 0;  // of all of them, bases too
  std::string plan;        // hash of what decides points and operators, the same in all shards
  bool own = false;        // the store is that of one shard, whose sweep goes on in it
  std::vector<std::size_t> here = {}, complete = {};  // ascending; complete: all rows are there

  std::vector<std::size_t> missing() const;
};

// One coordinate of a sweep's points.
struct StoredAxis {
  std::string name;  // a path of the chip's YAML, or base, program.padding, program.block, programs
  std::string unit;  // of its numbers: B, Hz, cycles, us, B/s, FLOP/s; empty of counts and texts
  // Axes of one group move together; an axis that follows others has none.
  std::optional<std::size_t> group;
};

struct StoredValue {
  std::string text;              // as a chip's YAML writes it
  std::optional<double> number;  // in the axis's unit
};

// Which points of a multi-fidelity sweep the simulator judges besides the model, and how far their choice is
// (experiments/multi_fidelity/choice.h).
struct StoredMultiFidelity {
  std::string mode;                                      // of the simulator
  bool front = true;                                     // the Pareto front, and what lies within the error band of it
  std::size_t validation_sample = 0;                     // points that are drawn
  std::optional<std::size_t> neighbours = std::nullopt;  // at most; nothing: all within the band
  std::int64_t seed = 1;                                 // of the draw
  std::string cost = {};  // the expression that a point's cost is, next to its time; empty: time alone counts
  enum class Stage { kNone, kFrontAndValidation, kNeighbours } chosen = Stage::kNone;
};

struct StoredWorkload {
  std::string name, kind;
  double weight = 1;
  base::Value document;  // {"stages":[{"expr","sizes"}],"tensors":{name: shape},"dtype","accumulate"}
};

// A sweep as it was last run.
struct StoredSweep {
  std::int64_t id = 0;
  std::string title, file, text;  // of its file
  std::string evaluator;  // model or sim: which time counts; multi-fidelity: the model's, and some are simulated too
  std::vector<StoredAxis> axes;
  std::vector<StoredWorkload> workloads;
  std::optional<StoredMultiFidelity> multi_fidelity = std::nullopt;
  std::optional<StoredShards> shards = std::nullopt;  // of a store that has parts of it, or all of them, merged
};

// What of the chip differs from the base, by the YAML's path; `from` is empty where the base does not say it.
struct StoredDifference {
  std::string path, from, to;
};

// Why a point of a multi-fidelity sweep is simulated.
enum class Chosen : std::uint8_t { kNot, kBase, kFront, kNeighbour, kValidation };
// "base", "front", "neighbour", "validation"; empty where it is not.
std::string_view name_of(Chosen chosen);

// One combination of the axes' values, or a base chip as it is with programs constructed for it.
struct StoredPoint {
  std::size_t ordinal = 0;
  std::string base;  // a device name or a file
  bool is_base = false;
  std::vector<StoredValue> at;  // one an axis; empty texts where a base has no such value
  std::vector<StoredDifference> differences;
  std::string chip;                           // the hash of its chip; empty of a refused point
  std::string refused;                        // why there is no such chip
  std::optional<double> cost = std::nullopt;  // what a multi-fidelity sweep weighs its time against
  Chosen chosen = Chosen::kNot;
};

// One operator at one point.
struct StoredRow {
  std::optional<api::Prediction> prediction;
  std::optional<api::Simulation> simulation;
  std::optional<double> measured_us;
  std::string program;  // its hash; empty where there is none
  std::string error;    // why there is no time
  // Of a multi-fidelity sweep the predicted time counts, and a simulation stands next to it, or why there is none.
  bool multi_fidelity = false;
  std::string simulation_error = {};

  // What counts: simulated where it was asked for.
  std::optional<double> time_us() const;
};

// How far a point is, in operators, and what it takes in all.
struct PointTotal {
  std::size_t done = 0, failed = 0;   // failed ones are done too
  std::optional<double> weighted_us;  // the sum of weight times time; nothing before all operators have one
  std::optional<double> base_ratio;   // over that of the point's base chip
  // Of a point that a multi-fidelity sweep simulates too: operators, with a row, failed, and the sum over their times.
  std::size_t to_simulate = 0, simulated = 0, simulation_failed = 0;
  std::optional<double> simulated_us = std::nullopt;
};

class Store {
 public:
  // Nothing after an error: no file, no store, a store of another version.
  static std::optional<Store> open(const std::string& path, base::Diagnostics& diags);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // All functions throw StoreError where the file cannot be read.

  // Of the tool that computed all its rows.
  std::string tool_version() const;
  // In the order in which they were first run.
  std::vector<StoredSweep> sweeps() const;
  // The bases first, then the grid in the order of the axes' values, the last axis fastest; of a shard those that it
  // has, by the numbers that they have in the whole sweep.
  std::vector<StoredPoint> points(const StoredSweep& sweep) const;
  // One a point, in the same order.
  std::vector<PointTotal> totals(const StoredSweep& sweep) const;

  // Every operator at every point, in the order of points() and then of the workloads; null where nothing is computed
  // yet, or the point is refused.
  using Visit = std::function<void(const StoredPoint&, const StoredWorkload&, const StoredRow*)>;
  void each_row(const StoredSweep& sweep, const Visit& visit) const;

  // The documents behind hashes: of a chip as `arch show --json` prints it, of a program as --program reads it.
  base::Value chip(const std::string& hash) const;
  base::Value program(const std::string& hash) const;

 private:
  struct Open;
  explicit Store(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

// The indices of points that have a total, the least first, those of base chips left out.
std::vector<std::size_t> best_points(const std::vector<StoredPoint>& points, const std::vector<PointTotal>& totals);

// The name of the store of a shard beside that of the whole sweep: sweep.db, sweep.3.db.
std::string shard_store(const std::string& store, std::size_t index);
// The files of such names that are there, by their shards.
std::vector<std::pair<std::size_t, std::string>> shard_stores(const std::string& store);

// Why what lies there can be no store: a folder, a pipe, a socket, a device, links in a circle. Empty where a file is
// there or nothing. It opens nothing: to open a pipe waits for who writes to it.
std::string why_no_file(const std::string& path);

// Is a sweep writing to this store? Its process, or nothing.
std::optional<std::int64_t> running_sweep(const std::string& path);

}  // namespace tilescope::experiments

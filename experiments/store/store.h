// SPDX-License-Identifier: Apache-2.0
#pragma once
// The store of sweeps: requests, chips, operators and their results in one SQLite file that any tool reads
// (docs/exploring.md has its view `results`). This is its reader. Times are in microseconds.

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

// The store's file does not allow an operation at this moment: "FILE: what, and what to do". The cause is not the
// user's input but a full disk, a damaged file, or another active sweep.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Part of the file differs from what was written. The message names it, and how to restore it.
class DamagedError : public StoreError {
 public:
  using StoreError::StoreError;
};

// Throws DamagedError for contents that rows share: a document of a chip, a program or an operator, which is not
// written again.
[[noreturn]] void throw_damaged_content(const std::string& path, const std::string& what);

// Part `index` of `count` of a sweep: its points index, index + count, index + 2 count, ...
struct Shard {
  std::size_t index = 0, count = 1;

  bool operator==(const Shard&) const = default;
};

// The shards of a sweep that a store contains: the one shard of its own, or those that were merged into it.
struct StoredShards {
  std::size_t count = 1;   // number of shards of the sweep
  std::size_t points = 0;  // of all shards, bases included
  std::string plan;        // hash of all that determines points and operators; equal in all shards
  bool own = false;        // the store belongs to one shard, which continues in it
  std::vector<std::size_t> here = {}, complete = {};  // shards in the store, and those of them with all rows; ascending

  std::vector<std::size_t> missing() const;
};

// One coordinate of a sweep's points.
struct StoredAxis {
  std::string name;  // a path of the chip's YAML, or base, program.padding, program.block, programs
  std::string unit;  // of its numbers: B, Hz, cycles, us, B/s, FLOP/s; empty for counts and texts
  // Axes of one group move together; an axis that follows others has none.
  std::optional<std::size_t> group;
};

struct StoredValue {
  std::string text;              // as a chip's YAML writes it
  std::optional<double> number;  // in the axis's unit
};

// The points of a multi-fidelity sweep that the simulator judges besides the model, and the state of their choice
// (experiments/multi_fidelity/choice.h).
struct StoredMultiFidelity {
  std::string mode;                   // mode of the simulator
  bool front = true;                  // whether to simulate the Pareto front, and points within the error band of it
  std::size_t validation_sample = 0;  // number of points drawn
  std::optional<std::size_t> neighbours = std::nullopt;  // greatest number; nullopt: all within the band
  std::int64_t seed = 1;                                 // seed of the draw
  std::string cost = {};  // expression of a point's cost, which is weighed against its time; empty: only time counts
  enum class Stage { kNone, kFrontAndValidation, kNeighbours } chosen = Stage::kNone;
};

// One objective: an expression over the results of a point (experiments/objectives).
struct StoredObjective {
  std::string name, formula;
  bool most = false;  // whether the most is best; else the least
};

// The objectives of a sweep and its constraints on results, as its file writes them.
struct StoredObjectives {
  std::vector<StoredObjective> objectives;
  std::vector<std::string> constraints;
  std::vector<std::string> inputs;  // what they read that is known before programs are: area, price, paths of the chip
};

// How a sweep chooses its points where it does not take all of the grid.
struct StoredPlan {
  std::string text;        // "nsga2, 2000 evaluations, population 50, seed 1"
  std::size_t points = 0;  // of the grid, without bases
  bool ended = false;      // all points that it chooses are in the store
};

struct StoredWorkload {
  std::string name, kind;
  double weight = 1;
  base::Value document;  // {"stages":[{"expr","sizes"}],"tensors":{name: shape},"dtype","accumulate"}; kPlaceInSequence
};
// The key of an operator's place in a sequence, in the documents of its operators.
inline constexpr std::string_view kPlaceInSequence = "place";

// A sweep as it was last run.
struct StoredSweep {
  std::int64_t id = 0;
  std::string title, file, text;  // `file` and `text` are those of the sweep's file
  std::string evaluator;  // the time that counts: model or sim; in a multi-fidelity sweep the model's, and some points
                          // are also simulated
  std::vector<StoredAxis> axes;
  std::vector<StoredWorkload> workloads;
  std::optional<StoredMultiFidelity> multi_fidelity = std::nullopt;
  std::optional<StoredShards> shards = std::nullopt;  // only in a store that contains shards or was merged from them
  std::optional<StoredObjectives> objectives = std::nullopt;
  std::optional<StoredPlan> plan = std::nullopt;  // nullopt: the whole grid

  // Whether the operators run one after another.
  bool is_sequence() const {
    return !workloads.empty() && workloads.front().document.find(kPlaceInSequence) != nullptr;
  }
};

// A difference between the chip and its base, by the YAML's path; `from` is empty where the base has no such entry.
struct StoredDifference {
  std::string path, from, to;
};

// Why a point of a multi-fidelity sweep is simulated.
enum class Chosen : std::uint8_t { kNot, kBase, kFront, kNeighbour, kValidation };
// "base", "front", "neighbour", "validation"; empty for kNot.
std::string_view name_of(Chosen chosen);

// One combination of the axes' values, or an unchanged base chip with programs constructed for it.
struct StoredPoint {
  std::size_t ordinal = 0;
  std::string base;  // a device name or a file
  bool is_base = false;
  std::vector<StoredValue> at;  // one per axis; empty texts where a base has no such value
  std::vector<StoredDifference> differences;
  std::string chip;                           // hash of its chip; empty for a refused point
  std::string refused;                        // why there is no such chip
  std::optional<double> cost = std::nullopt;  // cost that a multi-fidelity sweep weighs against its time
  Chosen chosen = Chosen::kNot;
  std::vector<std::optional<double>> inputs =
      {};                   // one for each of StoredObjectives::inputs; nullopt where it is unknown
  std::string pruned = {};  // why no program was constructed: the area beyond its bound, say; empty where some were

  // Whether it has rows: its chip is accepted, and no constraint rules it out before.
  bool has_rows() const { return refused.empty() && pruned.empty(); }
};

// One operator at one point.
struct StoredRow {
  std::optional<api::Prediction> prediction;
  std::optional<api::Simulation> simulation;
  std::optional<double> measured_us;
  std::string program;  // hash of its program; empty where there is none
  std::string error;    // why there is no time
  // In a multi-fidelity sweep the predicted time counts; in addition there is a simulation, or the reason why there is
  // none.
  bool multi_fidelity = false;
  std::string simulation_error = {};

  // The time that counts: the simulated one where the sweep asked for it.
  std::optional<double> time_us() const;
};

// Progress of a point in operators, and its total time.
struct PointTotal {
  std::size_t done = 0, failed = 0;   // failed operators count as done
  std::optional<double> weighted_us;  // sum of weight times time; nullopt until all operators have one
  std::optional<double> base_ratio;   // over the total of the point's base chip
  // For a point that a multi-fidelity sweep also simulates: numbers of operators to simulate, with a row, and failed,
  // and the sum over their times.
  std::size_t to_simulate = 0, simulated = 0, simulation_failed = 0;
  std::optional<double> simulated_us = std::nullopt;
};

// A row as the store has it, without the objects of StoredRow, for readers of a million rows. Texts are valid during
// the visit.
struct PackedRow {
  struct Cell {
    enum class Type : std::uint8_t { kNone, kInteger, kReal, kText } type = Type::kNone;
    double number = 0;
    std::string_view text = {};
  };
  std::vector<Cell> singles;    // the single elements of its prediction, in the order of their description
  std::int64_t names = 0;       // rows with equal ones have nested elements of the same names
  std::vector<double> numbers;  // the nested elements, all finite
  std::optional<double> measured_us;
  std::string_view program, error;
};

// Threads use it one at a time.
class Store {
 public:
  // Returns nullopt after an error: no such file, no store, or a store of another version.
  static std::optional<Store> open(const std::string& path, base::Diagnostics& diags);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // The same store by another connection, for another thread. Nullopt where a sweep is writing to the file: the two
  // would then see different moments.
  std::optional<Store> again() const;

  // All functions throw StoreError where the file cannot be read.

  // Version of the tool that computed all rows.
  std::string tool_version() const;
  // The sweeps in the order in which they were first run.
  std::vector<StoredSweep> sweeps() const;
  // The one of that title; nullopt where there is none.
  std::optional<StoredSweep> sweep(std::string_view title) const;
  // The points: bases first, then the grid in the order of the axes' values, the last axis fastest. A shard has only
  // its own points and a plan those that it chose, with the numbers that they have in the whole grid.
  std::vector<StoredPoint> points(const StoredSweep& sweep) const;
  // Number of the points, and those of them from `first` on, at most `count`.
  std::size_t point_count(const StoredSweep& sweep) const;
  std::vector<StoredPoint> points(const StoredSweep& sweep, std::size_t first, std::size_t count) const;
  // One total per point, in the same order.
  std::vector<PointTotal> totals(const StoredSweep& sweep) const;

  // Visits every operator at every point, in the order of points() and then of the workloads. The row is null where it
  // is not computed yet, or the point is refused.
  using Visit = std::function<void(const StoredPoint&, const StoredWorkload&, const StoredRow*)>;
  void each_row(const StoredSweep& sweep, const Visit& visit) const;

  // The same for who takes packed rows. `packed` gets indices of a point and of a workload, and null where no row is
  // computed; where it returns false, and for rows with a simulation, of points without programs, and that are damaged,
  // `whole` is called instead.
  using VisitPacked = std::function<bool(std::size_t point, std::size_t workload, const PackedRow*)>;
  using VisitWhole = std::function<void(std::size_t point, std::size_t workload, const StoredRow*)>;
  void each_packed_row(const StoredSweep& sweep, const std::vector<StoredPoint>& points, const VisitPacked& packed,
                       const VisitWhole& whole) const;

  // The documents for hashes: a chip as `arch show --json` prints it, a program as --program reads it.
  base::Value chip(const std::string& hash) const;
  base::Value program(const std::string& hash) const;

 private:
  struct Open;
  explicit Store(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

// Indices of the points that have a total, the least first. Base chips are left out.
std::vector<std::size_t> best_points(const std::vector<StoredPoint>& points, const std::vector<PointTotal>& totals);

// The name of a shard's store next to that of the whole sweep: sweep.db, sweep.3.db.
std::string shard_store(const std::string& store, std::size_t index);
// The existing files of such names, by shard.
std::vector<std::pair<std::size_t, std::string>> shard_stores(const std::string& store);

// Why the path can be no store: a folder, a pipe, a socket, a device, or circular links. Empty for a file, or where
// nothing exists. Does not open the file, because opening a pipe blocks until it has a writer.
std::string why_no_file(const std::string& path);

// The process of a sweep that is writing to this store, or nullopt.
std::optional<std::int64_t> running_sweep(const std::string& path);

}  // namespace tilescope::experiments

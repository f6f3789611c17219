// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope sweep`: evaluates the chips of a sweep's file, each with its own best programs for the operators, and
// stores the results.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/sweep/state.h"

namespace tilescope::experiments {

struct SweepRun;

struct SweepRequest {
  std::string file;          // YAML
  std::string store;         // created where it does not exist
  std::string tool_version;  // version of the tool; rows of another version are not mixed with its own
  int jobs = 1;
  std::size_t memory = 0;  // most bytes of programs that chips share; 0: a quarter of the machine's memory
  // The shard whose points are computed, into a store of that shard alone; nullopt: all points.
  std::optional<Shard> shard = std::nullopt;
  // Called where rows in progress outlast a stop by a second, from another thread than sweep(): what is finished is
  // committed, and the callee ends the process. Where it is empty, the sweep waits for these rows.
  std::function<void(SweepRun)> overdue = {};
};

// The row that has been in progress longest.
struct SlowRow {
  std::string row;  // "conv1 at core.count 40"
  double seconds = 0;
};

// Progress of a sweep. A row is one operator at one point; rows that the store already had count as done.
struct SweepProgress {
  std::size_t done = 0, all = 0;  // rows
  std::size_t known = 0;          // rows that the store already had
  std::size_t points_done = 0, points_all = 0, points_known = 0;
  std::size_t simulations_done = 0, simulations_all = 0, simulations_known = 0;  // rows of chosen multi-fidelity points
  // By the mean times of the operators so far; nullopt before the first row. Without rows that a plan may choose yet,
  // but for those that it has evaluations for.
  std::optional<double> seconds_left;
  std::optional<SlowRow> slow;      // where a row takes long
  std::optional<std::string> best;  // the best point so far: "0.820 of v100 at memory.smem.banks 64"
};

struct SweepRun {
  bool planned = false;      // false where it was stopped during planning; then nothing is new in the store, nor in the
                             // following members
  SweepState state;          // of the store after the run
  std::size_t computed = 0;  // rows
  bool stopped = false;      // whether it ended before all was done
  std::vector<std::string> lost;  // rows whose worker died, with the cause: not stored, may succeed in another run
  // Wall-clock time of the computation; CPU time of all its threads, without simulations; the part of it for
  // construction.
  double seconds = 0, cpu_seconds = 0, construct_cpu_seconds = 0;
};

// Computes the rows of the sweep that the store lacks, `jobs` at a time, and commits them at least once a second. The
// stored results do not depend on `jobs`. `progress` is called with each row and several times a second, by one thread
// at a time. Ends early once `stop` returns true. Returns nullopt after errors in the file
// or the store; throws StoreError where the store cannot be written.
std::optional<SweepRun> sweep(const SweepRequest& request, const std::function<bool()>& stop,
                              const std::function<void(const SweepProgress&)>& progress, base::Diagnostics& diags);

// The outline of a sweep, known without reading its chips.
struct SweepOutline {
  std::string title, text;
  std::size_t points = 0;  // bases included, and points that will be refused
  bool is_multi_fidelity = false;
};

// For the caller that divides a sweep into shards. Returns nullopt after errors in the file.
std::optional<SweepOutline> outline_of(const std::string& file, base::Diagnostics& diags);

// Path of the JSON Schema of sweep files.
std::string sweep_schema_path();

}  // namespace tilescope::experiments

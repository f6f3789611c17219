// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope sweep`: chips of a sweep's file, each with its own best programs of the operators, into a store.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "experiments/sweep/state.h"

namespace tilescope::experiments {

struct SweepRequest {
  std::string file;          // YAML
  std::string store;         // made where it is not there
  std::string tool_version;  // of what computes: rows of another one are not mixed with its own
  int jobs = 1;
  std::size_t memory = 0;  // bytes of programs that chips share, at most; a quarter of the machine's where 0
  // The points of the sweep that are computed, into a store that is that shard's alone; all where there is none.
  std::optional<Shard> shard = std::nullopt;
};

// How far a sweep is. A row is one operator at one point; rows that the store had count as done.
struct SweepProgress {
  std::size_t done = 0, all = 0;  // rows
  std::size_t known = 0;          // of them, those that the store had
  std::size_t points_done = 0, points_all = 0, points_known = 0;
  std::size_t simulations_done = 0, simulations_all = 0, simulations_known = 0;  // rows of what a multi-fidelity chose
  std::optional<std::string> best;  // "0.820 of v100 at memory.smem.banks 64", so far
};

struct SweepRun {
  bool planned = false;           // else it was stopped before, and nothing is new in the store, nor in what follows
  SweepState state;               // of the store, afterwards
  std::size_t computed = 0;       // rows
  bool stopped = false;           // before all was done
  std::vector<std::string> lost;  // rows whose worker died, with how: they are not kept, and may come out another time
  // Of computing; of all its threads, simulations left out; of what of it is construction.
  double seconds = 0, cpu_seconds = 0, construct_cpu_seconds = 0;
};

// Computes what the store lacks of the sweep, `jobs` at a time, and commits it once a second at least; what is stored
// does not depend on their number. Ends early once `stop` says so. Nothing after errors in the file or the store;
// throws StoreError where the store takes no more.
std::optional<SweepRun> sweep(const SweepRequest& request, const std::function<bool()>& stop,
                              const std::function<void(const SweepProgress&)>& progress, base::Diagnostics& diags);

// What is known of a sweep without a look at its chips.
struct SweepOutline {
  std::string title, text;
  std::size_t points = 0;  // bases too, and those that will be refused
  bool is_multi_fidelity = false;
};

// Nothing after errors in the file.
std::optional<SweepOutline> outline_of(const std::string& file, base::Diagnostics& diags);

// Where the JSON Schema of sweep files stands.
std::string sweep_schema_path();

}  // namespace tilescope::experiments

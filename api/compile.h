// SPDX-License-Identifier: Apache-2.0
#pragma once
// `tilescope compile`: the best programs of operators on a chip, with predicted times.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/common/prediction.h"
#include "api/common/progress.h"
#include "api/common/totals.h"
#include "api/configurations.h"
#include "api/device_usage.h"
#include "api/search.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/dtype.h"
#include "construct/restrictions.h"

namespace tilescope::api {

// What to compile: a suite, by its name or its file, with values of its variables; or one expression with its sizes and
// shapes, as the command line writes them.
struct Workload {
  std::optional<std::string> suite;
  std::string op, sizes, shapes;
  std::optional<base::Dtype> dtype;  // of operators that say none; as the suite's file says, or f32, where absent
  bool small = false;                // every operator scaled down (expr/scale.h)
  std::string instruction;     // the only matrix instruction of the chip that may multiply, or none; any where empty
  bool direct_stores = false;  // results leave from registers alone, not through the scratchpad
  construct::Fuse fuse = construct::Fuse::kAll;
  bool inputs_prearranged = false;         // inputs lie where the programs want them, on chips whose cores exchange
  std::optional<tile::Dataflow> dataflow;  // the only one that inputs may have; any where absent
  std::optional<construct::TensorLocation> tensor_location;  // in the DRAM, if the chip has one, where absent
};

struct CompiledProgram {
  Prediction prediction;
  std::size_t stages = 1;
  // Of the first stage, for people: "128x64x8" and "8x4" over its axes "m x n x k", and "A+4".
  std::string axes, block_tile, thread_tile, layout;
  // Of several stages, for people: "S+M, O", those that share a kernel joined, and "S in smem, M in dram".
  std::string kernels, edges;
  std::int64_t threads = 0;
  bool on_tiles = false;             // that exchange: `thread_tile` is the grid of cores, `threads` a core's workers
  base::Value document;              // what --program reads
  std::optional<DeviceUsage> usage;  // what the chip's compiler made of it, where it was asked
  std::string usage_error;           // why it made nothing of it
  std::optional<std::int64_t> core_bytes;  // that it needs of a core's memory, of the front of time and memory
};

// What a construction did (construct/search_statistics.h).
struct SearchStats {
  std::size_t tiles = 0, evaluated = 0, pruned = 0, cache_misses = 0, cache_hits = 0;
  // Of a single stage that has programs: by its roofline, and by what share of its time the first may be beaten.
  std::optional<double> least_us, gap;
};

struct CompiledOperator {
  std::string id;
  std::string kind;
  base::Dtype dtype{};
  std::int64_t count = 1;                        // how often it occurs in its suite
  double operations = 0;                         // arithmetic ones of one occurrence
  double construct_ms = 0;                       // CPU time of one thread: construction and ranking
  std::vector<CompiledProgram> programs;         // best first; of roller-osdi22 in the order of discovery
  std::vector<std::pair<double, int>> rounds;    // of roller-osdi22: epsilon, programs found
  std::string error;                             // why there are no programs
  std::optional<SearchStats> stats;              // of roller
  std::optional<Configurations> configurations;  // of welder-open, of all stages as one group
};

// The one predicted to be fastest of the programs, of which there are some.
const CompiledProgram& best_of(const CompiledOperator& op);

// What all constructions did; nothing where none says.
std::optional<SearchStats> total_stats(const std::vector<CompiledOperator>& operators);

// What the operators take together, by their best programs.
Totals totals_of(const std::vector<CompiledOperator>& operators);

// Every mistake of a workload, for who cannot compile it because of another mistake.
void check(const Workload& workload, base::Diagnostics& diags);

// Compiles every operator of the workload for the chip, `keep` programs each, on `jobs` threads; the result does not
// depend on their number. Of an expression of several stages, program r is made of every stage's r-th best. Nothing
// where the workload has a mistake.
std::optional<std::vector<CompiledOperator>> compile(const Workload& workload, const arch::ArchSpec& a,
                                                     const SearchOptions& search, std::size_t keep, int jobs,
                                                     const Progress& progress, base::Diagnostics& diags);

// The document of `compile --json`: {"operators":[{"id","construct_ms","programs":[...]}],"total":{...}}; with `stats`
// also what construction cost, and the gap that it leaves.
base::Value to_document(const std::vector<CompiledOperator>& operators, bool stats = false);

// Every program as a line of a batch (--batch): ID.RANK, in the group ID, with the operator's count.
std::string batch_of(const std::vector<CompiledOperator>& operators);

}  // namespace tilescope::api

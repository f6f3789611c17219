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
#include "base/choices.h"
#include "base/diagnostics.h"
#include "base/document.h"
#include "base/dtype.h"

namespace tilescope::api {

// What to compile: a suite, by its name or its file, with values of its variables; or one expression with its sizes and
// shapes, as the command line writes them.
struct Workload {
  std::optional<std::string> suite;
  std::string op, sizes, shapes;
  // Element types: of operators that state none, and by tensor, as in `bf16,A=i8,accumulate=f32` (expr/parse_args.h);
  // as the suite's file says, or f32, where empty.
  std::string dtype;
  bool small = false;          // every operator scaled down (expr/scale.h)
  std::string instruction;     // the only matrix instruction of the chip that programs may use, or none; any if empty
  bool direct_stores = false;  // results go from registers to memory, not through the scratchpad
  base::Fuse fuse = base::Fuse::kAll;
  bool inputs_prearranged = false;         // class bsp: inputs are already laid out as the programs need them
  std::optional<base::Dataflow> dataflow;  // class bsp: of all inputs; any if absent
  std::optional<base::TensorLocation> tensor_location;  // class bsp: if absent, in the DRAM if the chip has one
  bool sequence = false;  // the operators of the suite run one after another (api/sequence.h)
};

// Whether no other element type is asked for than f32.
inline bool computes_f32(const Workload& w) { return w.dtype.empty() || w.dtype == base::name_of(base::Dtype::kF32); }

struct CompiledProgram {
  Prediction prediction;
  std::size_t stages = 1;
  // Of the first stage, for people: its axes "m x n x k", its tiles over them, "128x64x8" and "8x4", and its layout,
  // "A+4".
  std::string axes, block_tile, thread_tile, layout;
  // Of several stages, for people: the kernels "S+M, O", where + joins stages that share a kernel, and the tensors
  // between stages, "S in smem, M in dram".
  std::string kernels, edges;
  std::int64_t threads = 0;
  bool on_tiles = false;             // class bsp: `thread_tile` is the grid of cores, `threads` a core's workers
  base::Value document;              // the program as --program reads it
  std::optional<DeviceUsage> usage;  // its resources by the chip's compiler, if that was run
  std::string usage_error;           // why the chip's compiler failed
  // Bytes of a core's memory that the program needs; only with the Pareto front of time and memory.
  std::optional<std::int64_t> core_bytes;
  std::optional<double> cold_us;       // in a sequence: the predicted time after empty caches
  std::optional<double> simulated_us;  // where the simulator ranks programs: its time
};

template <class V>
void describe(V& v, base::Is<CompiledProgram> auto& p) {
  v.part(p.prediction);
  v.field({"cold_us", "us", "Time by the model where no cache holds anything at the begin; only in a sequence."},
          p.cold_us);
  v.field({"simulated_us", "us", "Time by the simulator, where it ranks the programs."}, p.simulated_us);
  v.object({"usage", "", "Resources by the chip's compiler."}, p.usage);
  v.field({"usage_error", "", "Why the chip's compiler failed."}, base::unless_empty(p.usage_error));
  v.field({"core_bytes", "B", "Memory of a core that the program needs."}, p.core_bytes);
  v.field({"program", "", "The program as --program reads it."}, p.document);
}

// Statistics of a construction (construct/search_statistics.h).
struct SearchStats {
  std::size_t tiles = 0, evaluated = 0, pruned = 0, cache_misses = 0, cache_hits = 0;
  std::optional<double> least_us, gap;  // only of a single stage that has programs
};

template <class V>
void describe(V& v, base::Is<SearchStats> auto& s) {
  v.field({"tiles", "", "Pairs of block tile and thread tile that construction grew."}, s.tiles);
  v.field({"evaluated", "", "Programs whose time the model computed."}, s.evaluated);
  v.field({"pruned", "", "Tiles and programs that a lower bound excludes from the first ones."}, s.pruned);
  v.field({"cache_misses", "", "Programs whose accesses were counted anew."}, s.cache_misses);
  v.field({"cache_hits", "", "Programs whose counts were cached."}, s.cache_hits);
  v.field({"lower_bound_us", "us", "Lower bound of the time by the roofline."}, s.least_us);
  v.field({"gap", "", "The largest share of its time by which another program could beat the first."}, s.gap);
}

struct CompiledOperator {
  std::string id;
  std::string kind;
  std::string dtypes;                            // expr::dtypes_text
  std::int64_t count = 1;                        // how often it occurs in its suite
  double operations = 0;                         // arithmetic operations of one occurrence
  double construct_ms = 0;                       // CPU time of one thread: construction and ranking
  std::vector<CompiledProgram> programs;         // best first; with roller-osdi22 in the order of discovery
  std::vector<std::pair<double, int>> rounds;    // only of roller-osdi22: epsilon, programs found
  std::string error;                             // why there are no programs
  std::optional<SearchStats> stats;              // only of roller
  std::optional<Configurations> configurations;  // only of welder-open, of all stages as one group
  std::string inputs;                            // in a sequence: those that are tensors of earlier operators, "A=up.C"
};

// The time by which programs are ranked: the simulator's where it ranks them, else the model's.
double us_of(const CompiledProgram& p);

// The program with the shortest such time. `op.programs` must not be empty.
const CompiledProgram& best_of(const CompiledOperator& op);

// Sum of the statistics of all operators; nullopt if none has any.
std::optional<SearchStats> total_stats(const std::vector<CompiledOperator>& operators);

// The operator as its best program takes it.
TimedOperator timed(const CompiledOperator& op);

// Reports every mistake of a workload, for callers that cannot compile it because of another mistake.
void check(const Workload& workload, base::Diagnostics& diags);

// Compiles every operator of the workload for the chip, `keep` programs each, on `jobs` threads; the result does not
// depend on their number. Programs of several stages are those of construct (api/construct.h). In a sequence every
// operator keeps its first program alone, which is the one that is fastest by itself. Returns nullopt if the workload
// has a mistake.
std::optional<std::vector<CompiledOperator>> compile(const Workload& workload, const arch::ArchSpec& a,
                                                     const SearchOptions& search, std::size_t keep, int jobs,
                                                     const Progress& progress, base::Diagnostics& diags);

// The document of `compile --json`: {"operators":[{"id","construct_ms","programs":[...]}],"total":{...}}; `stats` adds
// what construction cost, and the gap that it leaves.
base::Value to_document(const std::vector<CompiledOperator>& operators, bool stats = false);

// A program to be written as a file of its own (--program) and as a line of a batch (--batch).
struct ProgramToWrite {
  std::string id;
  std::string group;       // programs of a group compute the same
  std::int64_t count = 1;  // how often the operator occurs
  base::Value document;
};

// Every program, with the id ID.RANK, the group ID and the operator's count.
std::vector<ProgramToWrite> programs_to_write(const std::vector<CompiledOperator>& operators);

// The programs as lines of a batch.
std::string batch_of(const std::vector<ProgramToWrite>& programs);

}  // namespace tilescope::api

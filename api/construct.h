// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constructs the best programs of an expression on a chip. This is Tilescope's main algorithm, in one function of
// named steps.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/search.h"
#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/restrictions.h"
#include "construct/search_statistics.h"
#include "expr/expression.h"
#include "model/common/estimate.h"
#include "targets/target.h"
#include "tile/program.h"

namespace tilescope::api {

struct KnownParts;

// How programs are found. `restrictions` apply to the search roller; the other searches know only the chip's limits.
struct ConstructOptions {
  SearchOptions search;
  std::size_t keep = 1;
  construct::Restrictions restrictions = {};
  KnownParts* known = nullptr;  // of this chip, search and restrictions; saves work, changes no result
};

// A program with the model's estimate of its time.
struct RankedProgram {
  tile::RProgram program;
  model::Estimate estimate;
  std::optional<double> simulated_us = {};  // where the simulator ranks programs (api/simulate/evaluate.h)
};

struct Ranked {
  std::vector<RankedProgram> programs;                    // best first; with roller-osdi22 in the order of discovery
  std::string error;                                      // why there are none
  std::vector<std::pair<double, int>> rounds;             // only of roller-osdi22: epsilon, programs found
  std::optional<construct::SearchStatistics> statistics;  // only of roller: of all stages and rewritten expressions
  double construct_ms = 0;                                // CPU time of this thread
};

// Returns the best programs of the expression that can be lowered for the chip, at most `keep`. With several stages,
// program r consists of each stage's r-th best; where the restrictions allow, programs with inlined or fused stages
// compete with these by predicted time. With `search.pareto`, returns the Pareto front of time and core memory instead.
// `pools` holds what constructions on one thread share over several chips; it may be null, and changes no result. Any
// number of threads may call this function.
Ranked construct(const expr::Expression& e, const arch::ArchSpec& chip, const ConstructOptions& options,
                 construct::CandidatePools* pools = nullptr);

// Returns the program with the shortest predicted time on the chip, the first one among equals, of `own`, which were
// constructed for the chip, and of those of `others` that the chip can run. Returns nullopt, with the reasons in
// `diags`, if there is none.
std::optional<RankedProgram> best_on(const arch::ArchSpec& chip, const targets::Estimator& estimate,
                                     const std::vector<RankedProgram>& own,
                                     const std::vector<const tile::RProgram*>& others, base::Diagnostics& diags);

// The bytes of one core's memory that the program needs.
std::int64_t core_bytes(const tile::RProgram& program, const arch::ArchSpec& chip);

}  // namespace tilescope::api

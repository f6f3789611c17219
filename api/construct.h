// SPDX-License-Identifier: Apache-2.0
#pragma once
// The best programs of an expression on a chip: the algorithm of the product, in one function of named steps.

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

// How programs are found. `restrictions` hold for the search roller; the others know the chip's limits alone.
struct ConstructOptions {
  SearchOptions search;
  std::size_t keep = 1;
  construct::Restrictions restrictions = {};
};

// A program with the model's estimate of it.
struct RankedProgram {
  tile::RProgram program;
  model::Estimate estimate;
};

struct Ranked {
  std::vector<RankedProgram> programs;                    // best first; of roller-osdi22 in the order of discovery
  std::string error;                                      // why there are none
  std::vector<std::pair<double, int>> rounds;             // of roller-osdi22: epsilon, programs found
  std::optional<construct::SearchStatistics> statistics;  // of roller: of all stages, and of all rewritten expressions
  double construct_ms = 0;                                // CPU time of this thread
};

// The best programs of the expression that can be lowered for the chip, at most `keep`. Those of an expression of
// several stages are made of each stage's r-th best, and of what is faster with stages inlined or fused, as the
// restrictions allow. `pools`: what constructions of one thread for several chips share; may be null, and changes no
// result. Any number of threads may call it.
Ranked construct(const expr::Expression& e, const arch::ArchSpec& chip, const ConstructOptions& options,
                 construct::CandidatePools* pools = nullptr);

// The program with the shortest predicted time, the first of equal ones: of `own`, which were constructed for the chip,
// and of `others` as far as the chip can run them. Nothing where there is none, after the reasons in `diags`.
std::optional<RankedProgram> best_on(const arch::ArchSpec& chip, const targets::Estimator& estimate,
                                     const std::vector<RankedProgram>& own,
                                     const std::vector<const tile::RProgram*>& others, base::Diagnostics& diags);

// The bytes of one core's memory that the program needs.
std::int64_t core_bytes(const tile::RProgram& program, const arch::ArchSpec& chip);

}  // namespace tilescope::api

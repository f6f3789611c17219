// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chip's own programs of an expression, by one of the searches; for the .cc files of experiments/ alone.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arch/spec.h"
#include "base/diagnostics.h"
#include "construct/restrictions.h"
#include "construct/search_statistics.h"
#include "experiments/programs/compile.h"
#include "experiments/programs/search.h"
#include "expr/expression.h"
#include "model/common/estimate.h"
#include "targets/target.h"
#include "tile/program.h"

namespace tilescope::experiments {

struct Constructed {
  double construct_ms = 0;                     // CPU time of this thread
  std::vector<tile::RProgram> programs;        // best first; of roller-osdi22 in the order of discovery
  std::vector<std::pair<double, int>> rounds;  // of roller-osdi22: epsilon, programs found
  std::string error;                           // why there are none
  // Of roller: of all stages, and of what is tried with stages inlined.
  std::optional<construct::SearchStatistics> statistics;
};

struct BestProgram {
  tile::RProgram program;
  model::Estimate estimate;
};

// The one of the programs that is predicted to be fastest on a chip, of those that can be lowered for it, the first of
// equal ones; nothing where there is none, after the reasons against them.
std::optional<BestProgram> best_on(const arch::ArchSpec& a, const targets::Estimator& estimate,
                                   const std::vector<const tile::RProgram*>& programs, base::Diagnostics& diags);

// Constructs for one chip what can be lowered for it; any number of threads may use one.
class Constructor {
 public:
  // `given` restricts what `roller` constructs; the other searches know no restrictions but the chip's limits.
  Constructor(const arch::ArchSpec& a, const SearchOptions& search, std::size_t keep,
              construct::Restrictions given = {});

  const targets::Estimator& estimator() const { return estimate_; }
  // Whether it keeps the programs that no other beats both in time and in memory; what one needs of a core's.
  bool keeps_front() const { return search_.pareto; }
  std::int64_t core_bytes(const tile::RProgram& p) const { return target_.core_bytes(p, arch_).n; }

  // What the search lists in place of programs, of all stages as one group; nothing of searches that list nothing.
  std::optional<Configurations> configurations(const expr::Expression& e) const;
  // Of an expression of several stages every stage a kernel of its own, program r made of every stage's r-th best, and
  // what is faster with stages inlined or connected, as the restrictions allow; best first.
  // `pools`: what constructions for several chips share on one thread; may be null, and changes no result.
  Constructed construct(const expr::Expression& e, construct::CandidatePools* pools = nullptr) const;
  // The one of these programs that is predicted to be fastest; nothing after errors.
  std::optional<BestProgram> best(const expr::Expression& e, base::Diagnostics& diags) const;

 private:
  std::vector<tile::RProgram> programs(const expr::Expression& e, const SearchOptions& how, Constructed& out) const;
  std::vector<tile::RProgram> apart(const expr::Expression& e, const SearchOptions& how, std::size_t keep,
                                    Constructed& out) const;
  std::vector<tile::RProgram> fastest(std::vector<tile::RProgram> programs, std::size_t keep) const;
  void keep_front(std::vector<tile::RProgram>& programs) const;

  const arch::ArchSpec& arch_;
  const targets::Target& target_;
  targets::Estimator estimate_;
  SearchOptions search_;
  std::size_t keep_;
  construct::Restrictions given_;
};

}  // namespace tilescope::experiments

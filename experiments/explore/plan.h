// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans: which designs of a space are judged. A plan sees designs by the indices of their values along the axes, and
// what was told of them. Equal tellings lead to equal choices: a plan that is run again from its begin over judgements
// that are known already comes to the same end.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "experiments/explore/pareto.h"

namespace tilescope::experiments {

// Which value a design has along each axis.
using DesignIndex = std::vector<std::size_t>;

struct DesignSpace {
  std::vector<std::size_t> sizes;    // values of each axis
  std::vector<bool> ordered;         // whether close values of the axis are alike: numbers; else they are a choice
  std::vector<DesignIndex> designs;  // that there are; each once
};

class Plan {
 public:
  virtual ~Plan() = default;
  // The next designs to judge, as numbers of the space's, each of them once in all; none at the end. `merits`: of the
  // designs that the previous call returned, in their order.
  virtual std::vector<std::size_t> next(const std::vector<Merit>& merits) = 0;
};

struct Nsga2Options {
  std::size_t evaluations = 0;  // designs that are judged, at most
  std::size_t population = 0;   // 0: a tenth of the evaluations, from 8 to 50
  std::int64_t seed = 1;

  std::size_t population_size() const;
};

// NSGA-II (Deb et al., 2002) over indices: tournaments by rank and crowding, crossover of each axis by itself, mutation
// by small steps along ordered axes. A design that was judged is not chosen again; where all children are known,
// designs beside the best ones are taken, then random ones. The space outlives the plan.
std::unique_ptr<Plan> nsga2(const DesignSpace& space, const Nsga2Options& options);

// Ends and middles of all ordered axes with every value of the others; then designs one step along one axis from the
// front, until there is no new one; then with half the step, down to steps of one value. The space outlives the plan.
std::unique_ptr<Plan> refine(const DesignSpace& space);

// Those designs, all at once.
std::unique_ptr<Plan> listed(std::vector<std::size_t> designs);

// Designs by their index.
class DesignNumbers {
 public:
  explicit DesignNumbers(const DesignSpace& space);
  // The number of the design of that index, or the number of designs where there is none.
  std::size_t of(const DesignIndex& index) const;

 private:
  std::map<DesignIndex, std::size_t> numbers_;
};

}  // namespace tilescope::experiments

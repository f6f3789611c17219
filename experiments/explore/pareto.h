// SPDX-License-Identifier: Apache-2.0
#pragma once
// Domination among designs of several objectives and constraints. Every objective is to be least.

#include <cstddef>
#include <limits>
#include <vector>

namespace tilescope::experiments {

// How good a design is.
struct Merit {
  std::vector<double> objectives;  // one for each of all designs alike; empty where a design has none
  double violation = 0;            // of its constraints; 0 where it is feasible, infinity where it cannot be judged

  bool is_feasible() const { return violation == 0 && !objectives.empty(); }
};

// The merit of a design that cannot be judged: a chip that is refused, an operator without a program.
inline Merit no_merit() { return {{}, std::numeric_limits<double>::infinity()}; }

// Domination under constraints (Deb et al., NSGA-II, 2002): a feasible design dominates an infeasible one, of two
// infeasible ones the one of less violation, and of two feasible ones the one that is nowhere worse and somewhere
// better.
bool dominates(const Merit& a, const Merit& b);

// Feasible designs that no other one dominates, ascending. Designs of equal objectives are all on the front.
std::vector<std::size_t> front_of(const std::vector<Merit>& designs);

// All designs by rank: those that none dominates, those that only these dominate, and so on.
std::vector<std::vector<std::size_t>> ranks_of(const std::vector<Merit>& designs);

// The crowding distance of each design of a rank (Deb et al., 2002): the sides of the box of its neighbours, each over
// the range of its objective; infinity at both ends. Infeasible designs have none.
std::vector<double> crowding_of(const std::vector<Merit>& designs, const std::vector<std::size_t>& rank);

}  // namespace tilescope::experiments

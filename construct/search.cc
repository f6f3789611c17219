// SPDX-License-Identifier: Apache-2.0
#include "construct/search.h"

#include <utility>

#include "construct/detail/evaluation_log.h"

namespace tilescope::construct {

BatchCostModel one_by_one(CostModel cost_model) {
  return [cost_model = std::move(cost_model)](std::span<const tile::RProgram> programs) {
    std::vector<base::Microseconds> times;
    for (const tile::RProgram& p : programs) times.push_back(cost_model(p));
    return times;
  };
}

Trace random_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget) {
  EvaluationLog log(space, cost_model, budget);
  log.evaluate(log.fresh_points(budget.programs));
  return log.trace();
}

Trace exhaustive_search(const std::vector<tile::StageProgram>& programs, const arch::ArchSpec& a,
                        const BatchCostModel& cost_model) {
  std::vector<tile::RProgram> candidates;
  for (const tile::StageProgram& p : programs) candidates.push_back(tile::program_of(a.name, p));
  const std::vector<base::Microseconds> times = cost_model(candidates);
  Trace out;
  for (std::size_t i = 0; i < programs.size(); ++i) out.push_back({programs[i], times[i]});
  return out;
}

}  // namespace tilescope::construct

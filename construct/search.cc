#include "construct/search.h"

#include <utility>

#include "construct/asked.h"

namespace tilescope::construct {

BatchJudge one_by_one(Judge judge) {
  return [judge = std::move(judge)](std::span<const tile::RProgram> programs) {
    std::vector<base::Microseconds> times;
    for (const tile::RProgram& p : programs) times.push_back(judge(p));
    return times;
  };
}

Trace random_search(const SearchSpace& space, const BatchJudge& judge, const SearchBudget& budget) {
  Asked asked(space, judge, budget);
  asked.judge(asked.fresh_points(budget.programs));
  return asked.trace();
}

Trace exhaustive_search(const std::vector<tile::StageProgram>& programs, const arch::ArchSpec& a,
                        const BatchJudge& judge) {
  std::vector<tile::RProgram> asked;
  for (const tile::StageProgram& p : programs) asked.push_back({a.name, {p}, {}});
  const std::vector<base::Microseconds> times = judge(asked);
  Trace out;
  for (std::size_t i = 0; i < programs.size(); ++i) out.push_back({programs[i], times[i]});
  return out;
}

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
#include "construct/detail/evaluation_log.h"

#include "base/check.h"

namespace tilescope::construct {
namespace {

// Draws of one collapse after which it has no further program, as far as we care. A thousandth of a collapse's points
// at least say programs on the chips and operators that were looked at.
constexpr int kMaxDraws = 100000;

}  // namespace

EvaluationLog::EvaluationLog(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget)
    : space_(space), cost_model_(cost_model), budget_(budget.programs), random_(budget.seed) {}

std::optional<Point> EvaluationLog::fresh_point(const std::set<Point>& but) {
  std::set<std::size_t> exhausted;
  while (exhausted.size() < space_.collapses()) {
    const std::size_t collapse = any_below(random_, space_.collapses());
    if (exhausted.count(collapse) > 0) continue;
    for (int draw = 0; draw < kMaxDraws; ++draw) {
      Point p = space_.any_point(random_, collapse);
      if (space_.program_at(p) && !knows(p) && but.count(p) == 0) return p;
    }
    exhausted.insert(collapse);
  }
  return std::nullopt;
}

std::vector<Point> EvaluationLog::fresh_points(std::size_t count) {
  std::set<Point> drawn;
  std::vector<Point> out;
  while (out.size() < count) {
    const std::optional<Point> p = fresh_point(drawn);
    if (!p) break;
    drawn.insert(*p);
    out.push_back(*p);
  }
  return out;
}

void EvaluationLog::evaluate(const std::vector<Point>& points) {
  std::vector<Point> asked;
  std::set<Point> seen;
  std::vector<tile::RProgram> programs;
  for (const Point& p : points) {
    if (asked.size() == left()) break;
    if (knows(p) || !seen.insert(p).second) continue;
    std::optional<tile::StageProgram> program = space_.program_at(p);
    base::check(program.has_value(), "a search judges programs");
    asked.push_back(p);
    programs.push_back(tile::program_of(space_.chip().name, std::move(*program)));
  }
  if (programs.empty()) return;
  const std::vector<base::Microseconds> times = cost_model_(programs);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    times_[asked[i]] = times[i].v;
    trace_.push_back({std::move(programs[i].simt().front()), times[i]});
  }
}

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The programs that a search has evaluated and their times, and how it draws by chance; for the .cc files of the
// searches.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "construct/search.h"
#include "construct/search_space.h"

namespace tilescope::construct {

class EvaluationLog {
 public:
  // All three must live as long as this.
  EvaluationLog(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget);

  Random& random() { return random_; }
  // True with that chance.
  bool happens(double chance) { return std::uniform_real_distribution<double>(0, 1)(random_) < chance; }
  // How many programs may still be evaluated.
  std::size_t left() const { return budget_ - trace_.size(); }
  bool knows(const Point& p) const { return times_.count(p) > 0; }
  // Of a point that was evaluated; infinite where the cost model could not tell.
  double time_us(const Point& p) const { return times_.at(p); }

  // A point that says a program, was not evaluated and is not in `but`: a way to collapse loops by chance, then any of
  // its points. Nothing where very many draws find none.
  std::optional<Point> fresh_point(const std::set<Point>& but = {});
  // At most `count` of them.
  std::vector<Point> fresh_points(std::size_t count);

  // Evaluates the points that were not evaluated yet, in order, as far as the budget goes. They say programs (checked).
  void evaluate(const std::vector<Point>& points);

  const Trace& trace() const { return trace_; }

 private:
  const SearchSpace& space_;
  const BatchCostModel& cost_model_;
  std::size_t budget_;
  Random random_;
  std::map<Point, double> times_;
  Trace trace_;
};

}  // namespace tilescope::construct

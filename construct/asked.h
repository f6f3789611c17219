#pragma once
// What a search has asked its judge about, and how it draws by chance; for the .cc files of the searches.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "construct/search.h"
#include "construct/search_space.h"

namespace tilescope::construct {

class Asked {
 public:
  // All three must live as long as this.
  Asked(const SearchSpace& space, const BatchJudge& judge, const SearchBudget& budget);

  Random& random() { return random_; }
  // True with that chance.
  bool happens(double chance) { return std::uniform_real_distribution<double>(0, 1)(random_) < chance; }
  // How many programs may still be judged.
  std::size_t left() const { return budget_ - trace_.size(); }
  bool knows(const Point& p) const { return times_.count(p) > 0; }
  // Of a point that was judged; infinite where the judge could not tell.
  double time_us(const Point& p) const { return times_.at(p); }

  // A point that says a program, is not known and not in `but`: a fusion by chance, then any of its points. Nothing
  // where very many draws find none.
  std::optional<Point> fresh_point(const std::set<Point>& but = {});
  // At most `count` of them.
  std::vector<Point> fresh_points(std::size_t count);

  // Judges the points that are not known yet, in order, as far as the budget goes. They say programs (checked).
  void judge(const std::vector<Point>& points);

  const Trace& trace() const { return trace_; }

 private:
  const SearchSpace& space_;
  const BatchJudge& judge_;
  std::size_t budget_;
  Random random_;
  std::map<Point, double> times_;
  Trace trace_;
};

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/check.h"
#include "experiments/explore/plan.h"

namespace tilescope::experiments {
namespace {

class Refine : public Plan {
 public:
  explicit Refine(const DesignSpace& space) : space_(space), numbers_(space), known_(space.designs.size()) {
    for (std::size_t a = 0; a < space.sizes.size(); ++a)
      steps_.push_back(space.ordered[a] ? std::max<std::size_t>(1, (space.sizes[a] - 1) / 2) : 1);
  }

  std::vector<std::size_t> next(const std::vector<Merit>& merits) override {
    base::check(merits.size() == chosen_.size() - judged_.size(),
                "the caller gives a plan the merit of every design that it chose");
    judged_.insert(judged_.end(), merits.begin(), merits.end());
    if (chosen_.empty()) return take(coarse());
    while (true) {
      const std::vector<std::size_t> beside = beside_front();
      if (!beside.empty()) return take(beside);
      if (std::all_of(steps_.begin(), steps_.end(), [](std::size_t s) { return s == 1; })) return {};
      for (std::size_t& s : steps_) s = (s + 1) / 2;
    }
  }

 private:
  std::vector<std::size_t> take(const std::vector<std::size_t>& designs) {
    for (const std::size_t d : designs) known_[d] = true;
    chosen_.insert(chosen_.end(), designs.begin(), designs.end());
    return designs;
  }

  std::vector<std::size_t> coarse() const {
    std::vector<std::size_t> out;
    for (std::size_t d = 0; d < space_.designs.size(); ++d)
      if (is_coarse(space_.designs[d])) out.push_back(d);
    // Constraints may leave none of them: then the plan begins with the design in the middle.
    if (out.empty() && !space_.designs.empty()) out.push_back(space_.designs.size() / 2);
    return out;
  }

  bool is_coarse(const DesignIndex& index) const {
    for (std::size_t a = 0; a < index.size(); ++a) {
      const std::size_t last = space_.sizes[a] - 1;
      if (space_.ordered[a] && index[a] != 0 && index[a] != last && index[a] != last / 2) return false;
    }
    return true;
  }

  // Where nothing is feasible these are beside the least violation.
  std::vector<std::size_t> best() const {
    std::vector<std::size_t> front = front_of(judged_);
    if (!front.empty()) return front;
    double least = no_merit().violation;
    for (const Merit& m : judged_) least = std::min(least, m.violation);
    for (std::size_t i = 0; i < judged_.size(); ++i)
      if (judged_[i].violation == least) front.push_back(i);
    return front;
  }

  std::vector<std::size_t> beside_front() const {
    std::set<std::size_t> out;
    for (const std::size_t i : best())
      for (std::size_t a = 0; a < steps_.size(); ++a)
        for (const bool up : {false, true}) {
          DesignIndex index = space_.designs[chosen_[i]];
          index[a] += up ? steps_[a] : -steps_[a];  // below the first value: no design has that index
          const std::size_t d = numbers_.of(index);
          if (d < known_.size() && !known_[d]) out.insert(d);
        }
    return {out.begin(), out.end()};
  }

  const DesignSpace& space_;
  DesignNumbers numbers_;
  std::vector<std::size_t> steps_, chosen_;
  std::vector<Merit> judged_;  // of those chosen
  std::vector<bool> known_;    // by design
};

}  // namespace

std::unique_ptr<Plan> refine(const DesignSpace& space) { return std::make_unique<Refine>(space); }

}  // namespace tilescope::experiments

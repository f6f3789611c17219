// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/check.h"
#include "experiments/explore/plan.h"

namespace tilescope::experiments {
namespace {

// Draws that are the same with every library: the standard fixes the engine, and leaves distributions open.
class Draw {
 public:
  explicit Draw(std::int64_t seed) : engine_(static_cast<std::uint64_t>(seed)) {}
  // From 0 to n - 1, each as likely but for 1 / 2^64 of n.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

class Nsga2 : public Plan {
 public:
  Nsga2(const DesignSpace& space, const Nsga2Options& options)
      : space_(space),
        numbers_(space),
        evaluations_(options.evaluations),
        size_(options.population_size()),
        draw_(options.seed),
        known_(space.designs.size()),
        shuffled_(space.designs.size()) {
    std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
    for (std::size_t i = shuffled_.size(); i > 1; --i) std::swap(shuffled_[i - 1], shuffled_[draw_.below(i)]);
  }

  std::vector<std::size_t> next(const std::vector<Merit>& merits) override {
    base::check(merits.size() == children_.size(), "the caller gives a plan the merit of every design that it chose");
    for (std::size_t i = 0; i < merits.size(); ++i) population_.push_back({children_[i], merits[i]});
    judged_ += merits.size();
    children_.clear();
    if (!population_.empty()) select();
    const std::size_t wanted = std::min({size_, evaluations_ - judged_, space_.designs.size() - judged_});
    while (children_.size() < wanted) {
      const std::size_t child = population_.empty() ? unknown() : new_child();
      known_[child] = true;
      children_.push_back(child);
    }
    return children_;
  }

 private:
  struct Member {
    std::size_t design = 0;
    Merit merit;
    std::size_t rank = 0;
    double crowding = 0;
  };

  // Keeps the best of parents and children: whole ranks, and of the last one those that stand most alone.
  void select() {
    std::vector<Merit> merits;
    for (const Member& m : population_) merits.push_back(m.merit);
    const auto ranks = ranks_of(merits);
    std::vector<Member> kept;
    for (std::size_t r = 0; r < ranks.size() && kept.size() < size_; ++r) {
      const std::vector<double> crowding = crowding_of(merits, ranks[r]);
      std::vector<std::size_t> order(ranks[r].size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return crowding[a] > crowding[b]; });
      for (const std::size_t i : order) {
        if (kept.size() == size_) break;
        Member& m = kept.emplace_back(std::move(population_[ranks[r][i]]));
        m.rank = r;
        m.crowding = crowding[i];
      }
    }
    population_ = std::move(kept);
  }

  const DesignIndex& parent() {
    const Member& a = population_[draw_.below(population_.size())];
    const Member& b = population_[draw_.below(population_.size())];
    const bool first = a.rank != b.rank ? a.rank < b.rank : a.crowding >= b.crowding;
    return space_.designs[(first ? a : b).design];
  }

  std::size_t new_child() {
    constexpr int kTries = 32;
    for (int t = 0; t < kTries; ++t) {
      const DesignIndex &other = parent(), &one = parent();  // drawn in this order
      const std::size_t d = numbers_.of(mutated(crossed(one, other)));
      if (is_new(d)) return d;
    }
    const std::size_t d = beside_best();
    return is_new(d) ? d : unknown();
  }

  bool is_new(std::size_t d) const { return d < known_.size() && !known_[d]; }

  DesignIndex crossed(DesignIndex a, const DesignIndex& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || draw_.one_in(2)) continue;
      const auto [low, high] = std::minmax(a[i], b[i]);
      // Half of those that cross take a value between both.
      a[i] = space_.ordered[i] && draw_.one_in(2) ? low + draw_.below(high - low + 1) : b[i];
    }
    return a;
  }

  // One axis in the mean, and one at least where crossover changed nothing is likely to be.
  DesignIndex mutated(DesignIndex a) {
    const std::size_t sure = draw_.below(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (space_.sizes[i] == 1 || (i != sure && !draw_.one_in(2 * a.size()))) continue;
      if (i == sure && draw_.one_in(4)) continue;
      a[i] = space_.ordered[i] ? stepped(a[i], space_.sizes[i]) : draw_.below(space_.sizes[i]);
    }
    return a;
  }

  // A step of one value half of the time, of two or more a quarter, up to the whole axis.
  std::size_t stepped(std::size_t at, std::size_t size) {
    std::size_t step = 1;
    while (step < size && draw_.one_in(2)) step += 1 + step / 2;
    if (draw_.one_in(2)) return at >= step ? at - step : 0;
    return std::min(at + step, size - 1);
  }

  // An unknown design one value from one of the best, which are looked at from a random one on.
  std::size_t beside_best() {
    const std::size_t from = draw_.below(population_.size()), axis = draw_.below(space_.sizes.size());
    for (std::size_t i = 0; i < population_.size(); ++i) {
      const Member& m = population_[(from + i) % population_.size()];
      if (m.rank > 0) continue;
      for (std::size_t a = 0; a < space_.sizes.size(); ++a)
        for (const bool up : {false, true}) {
          DesignIndex index = space_.designs[m.design];
          index[(axis + a) % index.size()] +=
              up ? 1 : -std::size_t{1};  // below the first value: there is no such design
          if (const std::size_t d = numbers_.of(index); is_new(d)) return d;
        }
    }
    return known_.size();
  }

  // The next one of a random order.
  std::size_t unknown() {
    while (known_[shuffled_[at_]]) ++at_;
    return shuffled_[at_];
  }

  const DesignSpace& space_;
  DesignNumbers numbers_;
  std::size_t evaluations_, size_;  // the latter: of the population
  Draw draw_;
  std::vector<Member> population_;
  std::vector<std::size_t> children_;
  std::size_t judged_ = 0;
  std::vector<bool> known_;            // by design: chosen before
  std::vector<std::size_t> shuffled_;  // all designs
  std::size_t at_ = 0;                 // of `shuffled_`; those before are known
};

}  // namespace

std::size_t Nsga2Options::population_size() const {
  constexpr std::size_t kLeast = 8, kMost = 50;
  return population > 0 ? population : std::clamp(evaluations / 10, kLeast, kMost);
}

std::unique_ptr<Plan> nsga2(const DesignSpace& space, const Nsga2Options& options) {
  return std::make_unique<Nsga2>(space, options);
}

}  // namespace tilescope::experiments

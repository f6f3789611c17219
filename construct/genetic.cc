// SPDX-License-Identifier: Apache-2.0
// The genetic search of construct/search.h.

#include <algorithm>
#include <array>
#include <cmath>

#include "construct/detail/evaluation_log.h"

namespace tilescope::construct {
namespace {

constexpr std::size_t kPopulation = 100;
constexpr std::size_t kElites = 10;
constexpr std::size_t kParents = 3;
constexpr double kCrossover = 0.8;
constexpr double kMutation = 0.07;
constexpr int kGeneticTries = 1000;    // at a child, or a mutant, that says a program
constexpr int kStaleGenerations = 25;  // in a row without anything new: the population has converged; their whole run

class Genetic {
 public:
  Genetic(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget)
      : space_(space), log_(space, cost_model, budget) {}

  Trace run() {
    population_ = log_.fresh_points(kPopulation);
    log_.evaluate(population_);
    for (int stale = 0; log_.left() > 0 && population_.size() >= kParents && stale < kStaleGenerations;) {
      const std::size_t before = log_.left();
      population_ = next_generation();
      log_.evaluate(population_);
      stale = log_.left() < before ? 0 : stale + 1;
    }
    return log_.trace();
  }

 private:
  std::vector<Point> next_generation() {
    std::stable_sort(population_.begin(), population_.end(),
                     [this](const Point& a, const Point& b) { return log_.time_us(a) < log_.time_us(b); });
    std::vector<double> fitness;
    for (const Point& p : population_) fitness.push_back(1 / log_.time_us(p));  // 0 of what the cost model cannot tell
    if (fitness.front() == 0) fitness.assign(fitness.size(), 1);
    std::discrete_distribution<std::size_t> by_fitness(fitness.begin(), fitness.end());
    const auto parent = [&]() -> const Point& { return population_[by_fitness(log_.random())]; };
    std::vector<Point> next(population_.begin(),
                            population_.begin() + static_cast<std::ptrdiff_t>(std::min(kElites, population_.size())));
    while (next.size() < population_.size()) {
      const bool bred = log_.happens(kCrossover);
      next.push_back(mutated(bred ? child({&parent(), &parent(), &parent()}) : parent()));
    }
    return next;
  }

  // Every knob from any one of the parents that collapse loops as the child does; the first parent where nothing comes
  // of it.
  Point child(const std::array<const Point*, kParents>& parents) {
    for (int t = 0; t < kGeneticTries; ++t) {
      Point out = *parents[any_below(log_.random(), kParents)];
      std::vector<const Point*> alike;
      for (const Point* p : parents)
        if (p->collapse == out.collapse) alike.push_back(p);
      for (std::size_t g = 0; g < out.options.size(); ++g)
        out.options[g] = alike[any_below(log_.random(), alike.size())]->options[g];
      if (space_.program_at(out)) return out;
    }
    return *parents.front();
  }

  // Knobs change to any option; with the collapse they all do.
  Point mutated(const Point& p) {
    for (int t = 0; t < kGeneticTries; ++t) {
      Point out = p;
      if (log_.happens(kMutation)) out = space_.any_point(log_.random(), any_below(log_.random(), space_.collapses()));
      const std::vector<Knob>& knobs = space_.knobs(out.collapse);
      for (std::size_t g = 0; g < knobs.size(); ++g)
        if (log_.happens(kMutation)) out.options[g] = any_below(log_.random(), knobs[g].options.size());
      if (space_.program_at(out)) return out;
    }
    return p;
  }

  const SearchSpace& space_;
  EvaluationLog log_;
  std::vector<Point> population_;
};

}  // namespace

Trace genetic_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget) {
  return Genetic(space, cost_model, budget).run();
}

}  // namespace tilescope::construct

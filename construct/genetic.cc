// The genetic search of construct/search.h.

#include <algorithm>
#include <array>
#include <cmath>

#include "construct/asked.h"

namespace tilescope::construct {
namespace {

constexpr std::size_t kPopulation = 100;
constexpr std::size_t kElites = 10;
constexpr std::size_t kParents = 3;
constexpr double kCrossover = 0.8;
constexpr double kMutation = 0.07;
constexpr int kTries = 1000;           // at a child, or a mutant, that says a program
constexpr int kStaleGenerations = 25;  // in a row without anything new: the population has converged; their whole run

class Genetic {
 public:
  Genetic(const SearchSpace& space, const BatchJudge& judge, const SearchBudget& budget)
      : space_(space), asked_(space, judge, budget) {}

  Trace run() {
    population_ = asked_.fresh_points(kPopulation);
    asked_.judge(population_);
    for (int stale = 0; asked_.left() > 0 && population_.size() >= kParents && stale < kStaleGenerations;) {
      const std::size_t before = asked_.left();
      population_ = next_generation();
      asked_.judge(population_);
      stale = asked_.left() < before ? 0 : stale + 1;
    }
    return asked_.trace();
  }

 private:
  std::vector<Point> next_generation() {
    std::stable_sort(population_.begin(), population_.end(),
                     [this](const Point& a, const Point& b) { return asked_.time_us(a) < asked_.time_us(b); });
    std::vector<double> fitness;
    for (const Point& p : population_) fitness.push_back(1 / asked_.time_us(p));  // 0 of what the judge cannot tell
    if (fitness.front() == 0) fitness.assign(fitness.size(), 1);
    std::discrete_distribution<std::size_t> by_fitness(fitness.begin(), fitness.end());
    const auto parent = [&]() -> const Point& { return population_[by_fitness(asked_.random())]; };
    std::vector<Point> next(population_.begin(),
                            population_.begin() + static_cast<std::ptrdiff_t>(std::min(kElites, population_.size())));
    while (next.size() < population_.size()) {
      const bool bred = asked_.happens(kCrossover);
      next.push_back(mutated(bred ? child({&parent(), &parent(), &parent()}) : parent()));
    }
    return next;
  }

  // Every gene from any one of the parents that fuse loops as the child does; the first parent where nothing comes of
  // it.
  Point child(const std::array<const Point*, kParents>& parents) {
    for (int t = 0; t < kTries; ++t) {
      Point out = *parents[any_below(asked_.random(), kParents)];
      std::vector<const Point*> alike;
      for (const Point* p : parents)
        if (p->fusion == out.fusion) alike.push_back(p);
      for (std::size_t g = 0; g < out.options.size(); ++g)
        out.options[g] = alike[any_below(asked_.random(), alike.size())]->options[g];
      if (space_.program_at(out)) return out;
    }
    return *parents.front();
  }

  // Genes change to any option; with the fusion they all do.
  Point mutated(const Point& p) {
    for (int t = 0; t < kTries; ++t) {
      Point out = p;
      if (asked_.happens(kMutation))
        out = space_.any_point(asked_.random(), any_below(asked_.random(), space_.fusions()));
      const std::vector<Gene>& genes = space_.genes(out.fusion);
      for (std::size_t g = 0; g < genes.size(); ++g)
        if (asked_.happens(kMutation)) out.options[g] = any_below(asked_.random(), genes[g].options.size());
      if (space_.program_at(out)) return out;
    }
    return p;
  }

  const SearchSpace& space_;
  Asked asked_;
  std::vector<Point> population_;
};

}  // namespace

Trace genetic_search(const SearchSpace& space, const BatchJudge& judge, const SearchBudget& budget) {
  return Genetic(space, judge, budget).run();
}

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
// AutoTVM's search of construct/search.h. Figures: apache/tvm, python/tvm/autotvm/tuner, sa_model_optimizer.py,
// model_based_tuner.py and xgboost_tuner.py.

#include <algorithm>
#include <cmath>
#include <utility>

#include "construct/detail/evaluation_log.h"
#include "construct/detail/program_features.h"
#include "construct/detail/ranking_trees.h"

namespace tilescope::construct {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kByChance = 3;  // of a batch: 5 %, rounded down
constexpr std::size_t kChains = 128;
constexpr int kAnnealSteps = 500;
constexpr int kStaleSteps = 30;     // after which chains end, nothing having entered the plan
constexpr double kHottest = 1;      // in scores of the trees; falls to 0
constexpr int kAnnealTries = 1000;  // at a neighbour that says a program

// The points of the highest scores that were seen, each once.
class Plan {
 public:
  // True where it enters.
  bool offer(const Point& p, float score) {
    if (best_.size() == kBatch && score <= best_.begin()->first) return false;
    if (!in_.insert(p).second) return false;
    best_.emplace(score, p);
    if (best_.size() <= kBatch) return true;
    in_.erase(best_.begin()->second);
    best_.erase(best_.begin());
    return true;
  }
  std::vector<Point> best_first() const {
    std::vector<Point> out;
    for (auto p = best_.rbegin(); p != best_.rend(); ++p) out.push_back(p->second);
    return out;
  }

 private:
  std::set<std::pair<float, Point>> best_;
  std::set<Point> in_;
};

class Anneal {
 public:
  Anneal(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget)
      : space_(space), log_(space, cost_model, budget) {}

  Trace run() {
    log_.evaluate(log_.fresh_points(kBatch));
    while (log_.left() > 0 && !log_.trace().empty()) {  // empty where no program fits
      learn();
      std::vector<Point> batch = planned();
      batch.resize(std::min(batch.size(), kBatch - kByChance));
      fill_by_chance(batch);
      const std::size_t before = log_.left();
      log_.evaluate(batch);
      if (log_.left() == before) break;  // the space has no more
    }
    return log_.trace();
  }

 private:
  void fill_by_chance(std::vector<Point>& batch) {
    std::set<Point> in(batch.begin(), batch.end());
    while (batch.size() < kBatch) {
      const std::optional<Point> p = log_.fresh_point(in);
      if (!p) return;
      in.insert(*p);
      batch.push_back(*p);
    }
  }

  void learn() {
    std::vector<Features> programs;
    std::vector<float> scores;
    double best = log_.trace().front().time.v;
    for (const Ranked& r : log_.trace()) best = std::min(best, r.time.v);
    for (const Ranked& r : log_.trace()) {
      programs.push_back(features_of(r.program));
      scores.push_back(std::isinf(r.time.v) ? 0 : static_cast<float>(best / r.time.v));
    }
    trees_.fit(programs, scores);
  }

  // Of points that say programs.
  std::vector<float> scores_of(const std::vector<Point>& points) const {
    std::vector<Features> programs;
    for (const Point& p : points) programs.push_back(features_of(*space_.program_at(p)));
    return trees_.predict(programs);
  }

  // What the trees rank first of all that the chains come by.
  std::vector<Point> planned() {
    if (chains_.empty()) chains_ = log_.fresh_points(kChains);
    std::vector<float> scores = scores_of(chains_);
    Plan plan;
    const auto offer = [&](const std::vector<Point>& points, const std::vector<float>& theirs) {
      bool entered = false;
      for (std::size_t i = 0; i < points.size(); ++i)
        if (!log_.knows(points[i])) entered = plan.offer(points[i], theirs[i]) || entered;
      return entered;
    };
    offer(chains_, scores);
    double temperature = kHottest;
    for (int step = 0, last = 0; step < kAnnealSteps && step < last + kStaleSteps; ++step) {
      std::vector<Point> next;
      for (const Point& p : chains_) next.push_back(neighbour(p));
      const std::vector<float> theirs = scores_of(next);
      for (std::size_t i = 0; i < next.size(); ++i)
        if (log_.happens(std::exp((theirs[i] - scores[i]) / temperature))) {
          chains_[i] = next[i];
          scores[i] = theirs[i];
        }
      if (offer(next, theirs)) last = step;
      temperature -= kHottest / (kAnnealSteps + 1);
    }
    return plan.best_first();
  }

  // One knob with another option; with the collapse all of them.
  Point neighbour(const Point& p) {
    for (int t = 0; t < kAnnealTries; ++t) {
      const std::size_t knobs = p.options.size();
      const std::size_t knob = any_below(log_.random(), knobs + 1);
      Point out = p;
      if (knob == knobs)
        out = space_.any_point(log_.random(), any_below(log_.random(), space_.collapses()));
      else
        out.options[knob] = any_below(log_.random(), space_.knobs(p.collapse)[knob].options.size());
      if (out != p && space_.program_at(out)) return out;
    }
    return p;
  }

  const SearchSpace& space_;
  EvaluationLog log_;
  RankingTrees trees_;
  std::vector<Point> chains_;
};

}  // namespace

Trace anneal_search(const SearchSpace& space, const BatchCostModel& cost_model, const SearchBudget& budget) {
  return Anneal(space, cost_model, budget).run();
}

}  // namespace tilescope::construct

// SPDX-License-Identifier: Apache-2.0
#include "experiments/accuracy/accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace tilescope::experiments {
namespace {

constexpr double kRefused = std::numeric_limits<double>::infinity();

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = static_cast<double>(first + 1 + last) / 2;
  }
  return ranks;
}

// Correlation of values whose mean is that of 1 to n.
double correlation_of_ranks(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

// What one may choose from: our times and the measured ones.
struct Choices {
  std::vector<double> ours, measured;

  void add(double our_time, double measured_time) {
    ours.push_back(our_time);
    measured.push_back(measured_time);
  }
  // The best measured time over the best of our first k; of several that we rank alike the slowest comes first, so that
  // ranking all alike is worth nothing.
  double best_of(std::size_t k) const {
    std::vector<std::size_t> order(ours.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(ours[a], -measured[a]) < std::pair(ours[b], -measured[b]);  // of ties the slowest first
    });
    double found = kRefused;
    for (std::size_t i = 0; i < std::min(k, order.size()); ++i) found = std::min(found, measured[order[i]]);
    return *std::min_element(measured.begin(), measured.end()) / found;
  }
};

struct Group {
  Choices rows;
  std::map<std::string, std::pair<double, double>> tiles;  // least of ours, least measured
};

class RankSum {
 public:
  void add(const Choices& c) {
    ++groups_;
    spearman_ += spearman(c.ours, c.measured);
    kendall_ += kendall(c.ours, c.measured);
    for (std::size_t i = 0; i < kFirst.size(); ++i) log_best_[i] += std::log(c.best_of(kFirst[i]));
  }
  RankStatistics mean() const {
    if (groups_ == 0) return {};
    const auto n = static_cast<double>(groups_);
    return {groups_,
            spearman_ / n,
            kendall_ / n,
            std::exp(log_best_[0] / n),
            std::exp(log_best_[1] / n),
            std::exp(log_best_[2] / n)};
  }

 private:
  static constexpr std::array<std::size_t, 3> kFirst = {1, 5, 10};
  std::size_t groups_ = 0;
  double spearman_ = 0, kendall_ = 0;
  std::array<double, kFirst.size()> log_best_{};
};

}  // namespace

double spearman(std::span<const double> a, std::span<const double> b) {
  return correlation_of_ranks(ranks_of(a), ranks_of(b));
}

double kendall(std::span<const double> a, std::span<const double> b) {
  std::int64_t agree = 0, tied_a = 0, tied_b = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const int of_a = (a[i] > a[j]) - (a[i] < a[j]), of_b = (b[i] > b[j]) - (b[i] < b[j]);
      ++pairs;
      agree += of_a * of_b;
      tied_a += of_a == 0;
      tied_b += of_b == 0;
    }
  const double scale = static_cast<double>(pairs - tied_a) * static_cast<double>(pairs - tied_b);
  return scale > 0 ? static_cast<double>(agree) / std::sqrt(scale) : 0;
}

Accuracy accuracy_of(std::span<const PredictedTime> times, std::size_t min_tiles) {
  Accuracy out;
  out.rows = times.size();
  std::vector<double> errors;
  std::map<std::string, Group> groups;
  for (const PredictedTime& t : times) {
    if (t.ours_us) errors.push_back(*t.ours_us / t.measured_us - 1);
    const double ours = t.ours_us.value_or(kRefused);
    Group& g = groups[t.group];
    g.rows.add(ours, t.measured_us);
    auto& [our_min, measured_min] = g.tiles.try_emplace(t.tile, kRefused, kRefused).first->second;
    our_min = std::min(our_min, ours);
    measured_min = std::min(measured_min, t.measured_us);
  }
  out.errors = api::statistics_of(errors);
  RankSum by_row, by_tile;
  for (const auto& [name, g] : groups) {
    if (g.tiles.size() < std::max<std::size_t>(2, min_tiles)) continue;
    by_row.add(g.rows);
    Choices tiles;
    for (const auto& [tile, least] : g.tiles) tiles.add(least.first, least.second);
    by_tile.add(tiles);
  }
  out.by_row = by_row.mean();
  out.by_tile = by_tile.mean();
  return out;
}

}  // namespace tilescope::experiments

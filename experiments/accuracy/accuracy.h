// SPDX-License-Identifier: Apache-2.0
#pragma once
// How well times of programs stand to measured ones: errors, rank correlation within groups of programs for the same
// operator, and what is lost by trusting the times when choosing. Row by row, and by block tile: a tile's time is the
// least of its rows, for who chooses a tile lets its best row run.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/common/errors.h"
#include "base/document.h"

namespace tilescope::experiments {

// A program that was measured. Without a time of ours it ranks behind all others and counts in no error.
struct PredictedTime {
  std::string group;  // of programs that compute the same
  std::string tile;   // block tile, however written
  std::optional<double> ours_us;
  double measured_us = 0;
};

// Means over groups, each as heavy as the others; ties rank as their mean.
struct RankStatistics {
  std::size_t groups = 0;               // in which something can be ranked
  double spearman = 0;                  // correlation of ranks
  double kendall = 0;                   // tau-b
  double best_of_1 = 0, best_of_5 = 0;  // best measured time over the best measured one of our first k; geometric mean
  double best_of_10 = 0;
};

struct Accuracy {
  std::size_t rows = 0;
  api::ErrorStatistics errors;  // of rows with a time of ours
  RankStatistics by_row, by_tile;
};

// Groups of fewer than `min_tiles` (at least two) block tiles are left out of the ranks.
Accuracy accuracy_of(std::span<const PredictedTime> times, std::size_t min_tiles);

// Spearman's correlation of ranks, and Kendall's tau-b, of pairs of values; 0 where one side is all ties.
double spearman(std::span<const double> a, std::span<const double> b);
double kendall(std::span<const double> a, std::span<const double> b);

// `compared`, the errors, `groups`, and `by_row` and `by_tile` with `spearman`, `kendall`, `top1_ratio` and so on.
base::Map to_entries(const Accuracy& f);

}  // namespace tilescope::experiments

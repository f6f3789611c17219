// SPDX-License-Identifier: Apache-2.0
#pragma once
// Accuracy of predicted program times against measured ones: errors, rank correlation within groups of programs for the
// same operator, and the loss from choosing a program by predicted time. Statistics are by row and by block tile. A
// tile's time is the least of its rows, because a tile is chosen with its best row.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/common/errors.h"
#include "base/document.h"

namespace tilescope::experiments {

// A measured program. Without a time of ours it ranks behind all others and counts in no error.
struct PredictedTime {
  std::string group;  // programs of a group compute the same
  std::string tile;   // the block tile, in any notation
  std::optional<double> ours_us;
  double measured_us = 0;
};

// Means over groups of equal weight; tied values share their mean rank.
struct RankStatistics {
  std::size_t groups = 0;               // groups whose programs can be ranked
  double spearman = 0;                  // correlation of ranks
  double kendall = 0;                   // tau-b
  double best_of_1 = 0, best_of_5 = 0;  // best measured time over the best measured one of our first k; geometric mean
  double best_of_10 = 0;
};

struct Accuracy {
  std::size_t rows = 0;
  api::ErrorStatistics errors;  // only of rows with a time of ours
  RankStatistics by_row, by_tile;
};

// Groups of fewer than `min_tiles` (at least two) block tiles are left out of the ranks.
Accuracy accuracy_of(std::span<const PredictedTime> times, std::size_t min_tiles);

// Spearman's rank correlation, and Kendall's tau-b, of pairs of values; 0 where one side is all ties.
double spearman(std::span<const double> a, std::span<const double> b);
double kendall(std::span<const double> a, std::span<const double> b);

// `compared`, the errors, `groups`, and `by_row` and `by_tile` with `spearman`, `kendall`, `top1_ratio` and so on.
base::Map to_entries(const Accuracy& f);

}  // namespace tilescope::experiments

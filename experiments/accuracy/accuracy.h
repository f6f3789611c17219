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
#include "base/describe.h"

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
  std::size_t groups = 0;
  double spearman = 0, kendall = 0;
  double best_of_1 = 0, best_of_5 = 0, best_of_10 = 0;
};

template <class V>
void describe(V& v, base::Is<RankStatistics> auto& r) {
  v.field({"groups", "", "Groups whose programs can be ranked."}, r.groups);
  v.field({"spearman", "", "Spearman's rank correlation."}, r.spearman);
  v.field({"kendall", "", "Kendall's tau-b, a rank correlation."}, r.kendall);
  v.field({"top1_ratio", "", "Best measured time over that of our first program; geometric mean."}, r.best_of_1);
  v.field({"top5_ratio", "", "Best measured time over the best of our first 5 programs."}, r.best_of_5);
  v.field({"top10_ratio", "", "Best measured time over the best of our first 10 programs."}, r.best_of_10);
}

struct Accuracy {
  std::size_t rows = 0;
  api::ErrorStatistics errors;  // only of rows with a time of ours
  RankStatistics by_row, by_tile;
};

template <class V>
void describe(V& v, base::Is<Accuracy> auto& a) {
  const auto if_ranked = [&](const auto& ranks) { return a.by_row.groups > 0 ? std::optional(ranks) : std::nullopt; };
  v.field({"rows", "", "How many rows."}, a.rows);
  v.part(a.errors);
  v.object({"by_row", "", "Ranks of the rows of a group."}, if_ranked(a.by_row));
  v.object({"by_tile", "", "Ranks of the block tiles of a group."}, if_ranked(a.by_tile));
}

// Groups of fewer than `min_tiles` (at least two) block tiles are left out of the ranks.
Accuracy accuracy_of(std::span<const PredictedTime> times, std::size_t min_tiles);

// Spearman's rank correlation, and Kendall's tau-b, of pairs of values; 0 where one side is all ties.
double spearman(std::span<const double> a, std::span<const double> b);
double kendall(std::span<const double> a, std::span<const double> b);

}  // namespace tilescope::experiments

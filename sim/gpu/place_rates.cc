// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/detail/place_rates.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tilescope::sim {
namespace {

// Steps of one warp per cycle, by block.
std::vector<double> own_rates(const SamplingUnit& w) {
  std::vector<double> rates;
  for (std::size_t b = 0; b < w.to->blocks.size(); ++b) {
    const auto steps = static_cast<double>(w.to->blocks[b].begun - w.from->blocks[b].begun);
    rates.push_back(steps / static_cast<double>(w.to->blocks[b].warps) / static_cast<double>(w.cycles()));
  }
  return rates;
}

// The mean rate of blocks alike, by block: those on cores that have as many, or only those of them in partitions that
// have as many warps.
std::vector<double> mean_rates(const std::vector<StepProgress>& blocks, const std::vector<double>& rates,
                               bool by_partition) {
  std::map<int, int> on_core;
  for (const StepProgress& b : blocks) on_core[b.core] += b.resident ? 1 : 0;
  const auto kind = [&](const StepProgress& b) { return std::pair{on_core[b.core], by_partition ? b.crowd : 0}; };
  std::map<std::pair<int, std::int64_t>, std::pair<double, double>> alike;  // sum, number
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].resident) continue;
    auto& [sum, number] = alike[kind(blocks[b])];
    sum += rates[b];
    number += 1;
  }
  std::vector<double> means;
  for (const StepProgress& b : blocks) {
    const auto& [sum, number] = alike[kind(b)];
    means.push_back(b.resident ? sum / number : 0);
  }
  return means;
}

// The part of the differences between blocks that lasts, of those which both sampling units together show; the rest is
// where steps happened to begin. What one sampling unit says of the other is stepped up to two (Spearman and Brown
// 1910).
double lasting_part(const SamplingUnit& first, const SamplingUnit& second) {
  const std::vector<StepProgress>& blocks = second.to->blocks;
  const std::vector<double> a = own_rates(first), b = own_rates(second);
  const std::vector<double> mean_a = mean_rates(blocks, a, true), mean_b = mean_rates(blocks, b, true);
  double common = 0, all = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].resident) continue;
    const double x = a[i] - mean_a[i], y = b[i] - mean_b[i];
    common += x * y;
    all += (x * x + y * y) / 2;
  }
  if (all == 0) return 0;
  const double of_one = std::clamp(common / all, 0.0, 1.0);
  return 2 * of_one / (1 + of_one);
}

// Blocks advance alike where as many share their core and their partition, but for `part` of their differences. Those
// are theirs and not their successors', whose partitions are others too.
std::vector<PlaceRate> rates_of(const SamplingUnit& all, double part) {
  const std::vector<double> own = own_rates(all);
  const std::vector<double> mean = mean_rates(all.to->blocks, own, true);
  const std::vector<double> later = mean_rates(all.to->blocks, own, false);
  std::vector<PlaceRate> rates;
  for (std::size_t b = 0; b < own.size(); ++b)
    rates.push_back(all.to->blocks[b].resident ? PlaceRate{mean[b] + part * (own[b] - mean[b]), later[b]}
                                               : PlaceRate{});
  return rates;
}

}  // namespace

std::vector<PlaceRate> place_rates(const SamplingUnit& first, const SamplingUnit& second) {
  return rates_of({first.from, second.to}, lasting_part(first, second));
}

std::vector<PlaceRate> place_rates(const SamplingUnit& w) { return rates_of(w, 0); }

}  // namespace tilescope::sim

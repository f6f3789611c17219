// SPDX-License-Identifier: Apache-2.0
#pragma once
// The candidates of a search that have been evaluated, best first: one of each tile, and one of each size.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "construct/detail/candidate_pool.h"

namespace tilescope::construct {

// The first ones, which are the same however many are kept: what a bound leaves out does not come among them.
inline constexpr std::size_t kFirst = 10;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// A candidate and its time, never where it does not fit, nothing is known of it, or it is no less than was asked.
struct Evaluated {
  CandidatePool::Id id = 0;
  double us = kNever;
  std::int64_t registers = 0;
  double least_us = 0;  // that any program of its tiles takes
};

// The least times of so many classes of programs, that of each class once.
class TopKBound {
 public:
  explicit TopKBound(std::size_t keep) : keep_(keep) {}

  void add(std::uint32_t of, double us);
  // What takes no less is not among the first so many of them, or among all.
  double limit(std::size_t first) const {
    return keep_ > kMax || best_.size() < std::min(first, keep_) ? kNever : best_[std::min(first, keep_) - 1].first;
  }
  double limit() const { return limit(keep_); }

  static constexpr std::size_t kMax = 64;  // more are not told apart

 private:
  std::size_t keep_;
  std::vector<std::pair<double, std::uint32_t>> best_;
};

// The fastest candidate of each class, however many.
class BestPerClass {
 public:
  void add(std::uint32_t of, const Evaluated& j);
  // The first of them, best first; of equal times the one that was added first.
  std::vector<Evaluated> first(std::size_t keep);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    Evaluated evaluated;
    std::size_t added = 0;
  };
  std::vector<std::uint32_t> places_;  // among these, by class
  std::vector<Entry> of_each_, in_order_;
  std::size_t added_ = 0;
};

class Ranking {
 public:
  // Of which the best so many tiles are kept at last, and meanwhile the best so many sizes are looked at.
  Ranking(const CandidatePool& pool, std::size_t keep, std::size_t sizes)
      : pool_(pool), looked_at_(sizes), tiles_(keep), first_(kFirst), sizes_(sizes) {}

  void add(const Evaluated& j);
  // Of sizes, the first ones alone are looked at from now on.
  void expand_first_only() { looked_at_ = kFirst; }

  // What takes no less comes neither among those that are kept nor among those that are looked at.
  double limit() const { return std::max({tiles_.limit(), first_.limit(), sizes_.limit(looked_at_)}); }
  // What takes no less is none of the first tiles and of none of the first sizes.
  double first_limit() const { return std::max(first_.limit(), sizes_.limit(kFirst)); }

  // The best ones of distinct tiles, best first; equal times keep the order of construction.
  std::vector<Evaluated> best(std::size_t keep) { return of_tiles_.first(keep); }
  // The best ones that differ in what a thread keeps or in how many threads there are: where two axes may stand for
  // each other, as images and channels of a depthwise convolution, one layout is as good for blocks along either.
  std::vector<Evaluated> best_of_each_size(std::size_t keep) { return of_sizes_.first(keep); }

 private:
  const CandidatePool& pool_;
  std::size_t looked_at_;
  TopKBound tiles_, first_, sizes_;
  BestPerClass of_tiles_, of_sizes_;
};

}  // namespace tilescope::construct

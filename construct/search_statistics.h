// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a construction cost, and how far from the best program it may have ended.

#include <cstddef>
#include <optional>

namespace tilescope::construct {

// The share of a time at which search ends: what could gain no more is not tried.
inline constexpr double kSearchGap = 0.002;

// Of one stage, or summed over several.
struct SearchStatistics {
  std::size_t tiles = 0;     // block tiles over register tiles that were grown
  std::size_t programs = 0;  // that the model was asked about
  std::size_t pruned = 0;    // tiles and programs of which a bound said that they cannot come among the kept
  std::size_t cache_misses = 0, cache_hits = 0;  // counts that were made, and that were there

  // Of one stage: microseconds of its first program, and the least that the stage's roofline allows any. Of several
  // nothing is known: what connects them may be faster than all their rooflines.
  struct Ends {
    double best_us = 0, least_us = 0;
    // By what share of its time the first program may be beaten, at most: 0.02 where it takes 2 % more.
    double gap() const { return 1 - least_us / best_us; }
  };
  std::optional<Ends> ends;  // where programs were found

  // The sum of what was done.
  void add(const SearchStatistics& more) {
    tiles += more.tiles;
    programs += more.programs;
    pruned += more.pruned;
    cache_misses += more.cache_misses;
    cache_hits += more.cache_hits;
    ends.reset();
  }
};

}  // namespace tilescope::construct

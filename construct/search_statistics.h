// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cost of a construction, and how far from the best program it may have ended.

#include <cstddef>
#include <optional>

namespace tilescope::construct {

// The relative gap at which a search ends: it tries nothing that could save no more than this share of a time.
inline constexpr double kSearchGap = 0.002;

// Of one stage, or summed over several.
struct SearchStatistics {
  std::size_t tiles = 0;                         // block tiles over register tiles that were grown
  std::size_t programs = 0;                      // that the model was asked for
  std::size_t pruned = 0;                        // tiles and programs that a bound excludes from the kept ones
  std::size_t cache_misses = 0, cache_hits = 0;  // counts that were computed, and that were found in the cache

  // For one stage: microseconds of its first program, and the least that the stage's roofline allows any program.
  // Several stages have none: their fusion may be faster than all their rooflines.
  struct Ends {
    double best_us = 0, least_us = 0;
    // The largest share of its time by which another program may beat the first; 0.02 if the roofline is 2 % lower.
    double gap() const { return 1 - least_us / best_us; }
  };
  std::optional<Ends> ends;  // absent where no program was found, and for several stages

  // Adds the counts of another construction, and drops `ends`.
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

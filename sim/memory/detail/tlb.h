// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translations at hand: pages by when they were used, the one unused longest out first. Few, and looked up where the
// device's cache misses, so a list is searched.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/memory/reservation_table.h"

namespace tilescope::sim {

struct TlbSpec {
  std::int64_t page = 0;  // bytes
  std::int64_t entries = 0;
  Cycle miss{};              // what an access waits longer
  std::int64_t walkers = 0;  // that fetch translations; 0: any number, and no access waits for another's
  bool writes = false;       // what is written needs them too
};

class Tlb {
 public:
  explicit Tlb(const TlbSpec& spec) : spec_(spec), walks_(static_cast<std::size_t>(spec.walkers)) {
    pages_.reserve(static_cast<std::size_t>(spec.entries));
  }

  bool translates_writes() const { return spec_.writes; }

  // When an access to the byte, made then, has its translation.
  Cycle translate(std::int64_t byte, Cycle at) {
    const std::int64_t number = byte / spec_.page;
    auto found = std::find_if(pages_.begin(), pages_.end(), [number](const Page& p) { return p.number == number; });
    const bool hit = found != pages_.end();
    if (!hit) {
      if (static_cast<std::int64_t>(pages_.size()) < spec_.entries) pages_.emplace_back();
      found = pages_.end() - 1;
      *found = {number, walk(at)};
    }
    std::rotate(pages_.begin(), found, found + 1);
    if (walks_.empty()) return hit ? at : at + spec_.miss;
    return std::max(at, pages_.front().ready);
  }

 private:
  struct Page {
    std::int64_t number = 0;
    Cycle ready{};
  };

  // When a walk that is asked for then ends, by the walker that is free first.
  Cycle walk(Cycle at) {
    if (walks_.empty()) return at + spec_.miss;
    Cycle& first = *std::min_element(walks_.begin(), walks_.end());
    first = std::max(first, at) + spec_.miss;
    return first;
  }

  TlbSpec spec_;
  std::vector<Page> pages_;   // latest used first
  std::vector<Cycle> walks_;  // ends of the latest, by walker
};

}  // namespace tilescope::sim

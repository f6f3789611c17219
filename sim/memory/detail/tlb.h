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
  Cycle miss = 0;  // what an access waits longer
};

class Tlb {
 public:
  explicit Tlb(const TlbSpec& spec) : spec_(spec) { pages_.reserve(static_cast<std::size_t>(spec.entries)); }

  // What an access to the byte waits for its translation.
  Cycle translate(std::int64_t byte) {
    const std::int64_t page = byte / spec_.page;
    auto found = std::find(pages_.begin(), pages_.end(), page);
    const bool hit = found != pages_.end();
    if (!hit) {
      if (static_cast<std::int64_t>(pages_.size()) < spec_.entries) pages_.push_back(page);
      found = pages_.end() - 1;
      *found = page;
    }
    std::rotate(pages_.begin(), found, found + 1);
    return hit ? 0 : spec_.miss;
  }

 private:
  TlbSpec spec_;
  std::vector<std::int64_t> pages_;  // latest used first
};

}  // namespace tilescope::sim

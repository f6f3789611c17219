// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data on their way into a cache, and who waits for them. Each is called by a number, which is another's once it ended.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/memory/detail/chains.h"
#include "sim/memory/detail/sector_cache.h"

namespace tilescope::sim {

template <class Waiter>
class Fills {
 public:
  // Into a line, or into none: of a write, say.
  int begin(SectorCache::Line* line, const Waiter& first) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(fills_.size()));
      fills_.emplace_back();
    }
    const int fill = free_.back();
    free_.pop_back();
    of(fill) = {line, first, {}, 1, {}};
    if (line != nullptr) line->fetch(fill);
    return fill;
  }
  void wait_too(int fill, const Waiter& w) { others_.append(of(fill).others, w); }

  // It comes in so many parts, the others are there; returns when all is there, where none is missing.
  std::optional<Cycle> in_parts(int fill, int pending, Cycle ready) {
    of(fill).pending = pending;
    of(fill).ready = ready;
    return pending == 0 ? std::optional(ready) : std::nullopt;
  }
  // Another part is there; returns likewise.
  std::optional<Cycle> arrive(int fill, Cycle at) {
    of(fill).ready = std::max(of(fill).ready, at);
    return in_parts(fill, of(fill).pending - 1, of(fill).ready);
  }
  // All is there: its line has it, unless something else is on its way into that by now, and those who wait are visited
  // in the order in which they came. None begins or comes meanwhile.
  template <class Visit>
  void end(int fill, Cycle at, Visit visit) {
    Fill& f = of(fill);
    if (f.line != nullptr && f.line->fill() == fill) f.line->arrive(at);
    visit(f.first);
    others_.take(f.others, visit);
    free_.push_back(fill);
  }
  // It is no longer wanted, and none but the first waits.
  void cancel(int fill) { free_.push_back(fill); }

  // Say that it will end soon, and very soon.
  void expect(int fill) const { __builtin_prefetch(&of(fill)); }
  void expect_now(int fill) const { __builtin_prefetch(of(fill).line, 1); }

 private:
  struct Fill {
    SectorCache::Line* line = nullptr;
    Waiter first;
    Chain others;
    int pending = 1;  // parts
    Cycle ready{};    // when the others are there
  };
  Fill& of(int fill) { return fills_[static_cast<std::size_t>(fill)]; }
  const Fill& of(int fill) const { return fills_[static_cast<std::size_t>(fill)]; }

  std::vector<Fill> fills_;
  std::vector<int> free_;
  Chains<Waiter> others_;
};

}  // namespace tilescope::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The indices of a kernel for some threads of one block, side by side: what every reader of a kernel's body needs for
// its addresses.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lower/kernel.h"

namespace tilescope::lower {

// Lanes are threads first .. first+count-1 of one block. Loop indices start at their lows.
class Lanes {
 public:
  Lanes(const Kernel& kernel, std::int64_t first_thread, std::int64_t count);

  void set_block(std::int64_t block);
  // Sets a loop's index and everything derived from it.
  void set_loop(int index, std::int64_t value);

  std::int64_t count() const { return count_; }
  std::int64_t value(int index, std::int64_t lane) const {
    return values_[static_cast<std::size_t>(index * count_ + lane)];
  }
  std::int64_t value(const Affine& a, std::int64_t lane) const {
    std::int64_t sum = a.constant;
    for (const AffineTerm& t : a.terms) sum += t.coefficient * value(t.index, lane);
    return sum;
  }
  bool holds(const std::vector<Guard>& guards, std::int64_t lane) const {
    for (const Guard& g : guards) {
      const std::int64_t v = value(g.value, lane);
      if (v < 0 || v >= g.bound) return false;
    }
    return true;
  }
  // The values that a loop runs through; none where the low is above the high.
  expr::Span range_of(const Loop& l, std::int64_t lane) const {
    expr::Span range = kernel_.indices[static_cast<std::size_t>(l.index)].range;
    if (l.first) range.low = std::max(range.low, value(*l.first, lane));
    if (l.last) range.high = std::min(range.high, value(*l.last, lane));
    return range;
  }

 private:
  void set_all(int index, std::int64_t value);
  void derive(const std::vector<int>& indices);

  const Kernel& kernel_;
  std::int64_t count_;
  std::vector<std::vector<int>> dependents_;  // by index: derived indices that change with it, in order
  std::vector<std::int64_t> values_;          // index by index, a value for each lane
};

}  // namespace tilescope::lower

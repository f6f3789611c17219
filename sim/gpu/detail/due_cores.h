// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores that have something to do in a turn, each once.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tilescope::sim {

class DueCores {
 public:
  explicit DueCores(std::size_t cores) : is_due_(cores, false) {}

  void add(int core) {
    if (is_due_[static_cast<std::size_t>(core)]) return;
    is_due_[static_cast<std::size_t>(core)] = true;
    due_.push_back(core);
  }
  // In the order in which they were added.
  const std::vector<int>& all() const { return due_; }
  // Those of the turn in the order of their numbers, in place of what `out` holds; the next turn has none yet.
  void take(std::vector<int>& out) {
    std::sort(due_.begin(), due_.end());
    for (const int c : due_) is_due_[static_cast<std::size_t>(c)] = false;
    out.swap(due_);
    due_.clear();
  }

 private:
  std::vector<bool> is_due_;
  std::vector<int> due_;
};

}  // namespace tilescope::sim

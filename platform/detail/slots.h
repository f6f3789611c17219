// SPDX-License-Identifier: Apache-2.0
#pragma once
// What initiators have asked for and was not answered, by numbers that are given anew.

#include <cstddef>
#include <utility>
#include <vector>

namespace tilescope::systemc {

inline constexpr int kNoSlot = -1;

// A T has an `int next`: the slot that continues it, or kNoSlot.
template <class T>
class Slots {
 public:
  int open(T t) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(all_.size()));
      all_.emplace_back();
    }
    const int slot = free_.back();
    free_.pop_back();
    all_[static_cast<std::size_t>(slot)] = std::move(t);
    return slot;
  }
  T& operator[](int slot) { return all_[static_cast<std::size_t>(slot)]; }
  void close(int slot) { free_.push_back(slot); }
  // Visits a slot and what continues it; `visit` may close them.
  template <class Visit>
  void visit_all_of(int slot, const Visit& visit) {
    for (int s = slot, next = kNoSlot; s != kNoSlot; s = next) {
      next = (*this)[s].next;
      visit(s, (*this)[s]);
    }
  }

 private:
  std::vector<T> all_;
  std::vector<int> free_;
};

}  // namespace tilescope::systemc

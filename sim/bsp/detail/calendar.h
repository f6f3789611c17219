// SPDX-License-Identifier: Apache-2.0
#pragma once
// Events by cycle, those of one cycle in the order in which they came: a ring of lists for the cycles to come soon, a
// heap for later ones. Adding and taking one costs the same however many there are.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/cycle.h"

namespace tilescope::sim::bsp {

template <class Event>
class Calendar {
 public:
  bool empty() const { return count_ == 0; }

  // Nothing is due before `now`, from which on events come.
  void begin(Cycle now) { now_ = now; }

  // Not before the cycle that was taken last.
  void add(Cycle at, const Event& e) {
    ++count_;
    if (at < now_ + kCycles)
      append(at, e);
    else
      later_.push({at, ++added_, e});
  }

  // The cycle of the first event; of an empty calendar there is none.
  Cycle next() const {
    const Cycle far = later_.empty() ? Cycle(-1) : later_.top().at;
    if (soon_ == 0) return far;
    // Of the ring's words of 64 cycles, from that of now on, and at last that word's beginning.
    const std::size_t begin = place_of(now_);
    for (std::size_t w = 0; w <= kWords; ++w) {
      const std::size_t word = (begin / 64 + w) % kWords;
      std::uint64_t bits = used_[word];
      if (w == 0) bits &= ~std::uint64_t{0} << (begin % 64);
      if (w == kWords) bits &= ~(~std::uint64_t{0} << (begin % 64));
      if (bits == 0) continue;
      const std::size_t place = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return now_ + Cycle(static_cast<std::int64_t>((place + kPlaces - begin) % kPlaces));
    }
    return far;
  }

  // Gives away, in order, what is due at `at`, the next cycle, and what is added to it meanwhile.
  template <class Do>
  void take(Cycle at, Do act) {
    now_ = at;
    for (; !later_.empty() && later_.top().at < now_ + kCycles; later_.pop())
      append(later_.top().at, later_.top().event);
    List& l = lists_[place_of(at)];
    while (l.first != kNone) {
      const std::uint32_t n = l.first;
      const Event e = nodes_[n].event;
      l.first = nodes_[n].next;
      nodes_[n].next = unused_;
      unused_ = n;
      --soon_, --count_;
      act(at, e);
    }
    const std::size_t place = place_of(at);
    used_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
  }

 private:
  static constexpr std::size_t kPlaces = 1 << 14, kWords = kPlaces / 64;
  static constexpr Cycle kCycles{kPlaces};
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    Event event;
    std::uint32_t next = kNone;
  };
  struct List {
    std::uint32_t first = kNone, last = kNone;
  };
  struct Later {
    Cycle at{};
    std::uint64_t order = 0;
    Event event;

    bool operator>(const Later& o) const { return std::tie(at, order) > std::tie(o.at, o.order); }
  };

  static std::size_t place_of(Cycle at) { return static_cast<std::size_t>((at % kCycles).count()); }

  void append(Cycle at, const Event& e) {
    std::uint32_t n = unused_;
    if (n == kNone) {
      n = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({e, kNone});
    } else {
      unused_ = nodes_[n].next;
      nodes_[n] = {e, kNone};
    }
    const std::size_t place = place_of(at);
    List& l = lists_[place];
    if (l.first == kNone)
      l.first = n;
    else
      nodes_[l.last].next = n;
    l.last = n;
    used_[place / 64] |= std::uint64_t{1} << (place % 64);
    ++soon_;
  }

  std::vector<List> lists_ = std::vector<List>(kPlaces);
  std::vector<std::uint64_t> used_ = std::vector<std::uint64_t>(kWords, 0);
  std::vector<Node> nodes_;
  std::uint32_t unused_ = kNone;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::size_t soon_ = 0, count_ = 0;
  std::uint64_t added_ = 0;
  Cycle now_{};
};

}  // namespace tilescope::sim::bsp

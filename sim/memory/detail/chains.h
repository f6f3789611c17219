// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists of waiters, all in one store. Most stay empty: such a list costs its own eight bytes alone.

#include <vector>

namespace tilescope::sim {

struct Chain {
  int first = -1, last = -1;
};

template <class T>
class Chains {
 public:
  void append(Chain& c, const T& value) {
    int at = free_;
    if (at < 0) {
      at = static_cast<int>(links_.size());
      links_.emplace_back();
    } else {
      free_ = link(at).next;
    }
    link(at) = {value, -1};
    (c.last < 0 ? c.first : link(c.last).next) = at;
    c.last = at;
  }

  // Null of an empty one; good until the next is appended.
  T* last(const Chain& c) { return c.last < 0 ? nullptr : &link(c.last).value; }

  // Visits all in the order in which they came, and lets them go; none may come meanwhile.
  template <class Visit>
  void take(Chain& c, Visit visit) {
    if (c.first < 0) return;
    for (int at = c.first; at >= 0; at = link(at).next) visit(link(at).value);
    link(c.last).next = free_;
    free_ = c.first;
    c = {};
  }

 private:
  struct Link {
    T value{};
    int next = -1;
  };
  Link& link(int at) { return links_[static_cast<std::size_t>(at)]; }

  std::vector<Link> links_;
  int free_ = -1;  // a chain of them
};

}  // namespace tilescope::sim
